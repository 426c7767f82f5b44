"""Go's standard library, compiled once for this machine; each judged command gets a copy of its own.

Go ships no compiled library: with an empty cache each clean run would compile it anew, over and over (15 s of processor
time). Only Go's own packages are in here: whatever a candidate compiles stays in its own run.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import uuid
from functools import cache
from pathlib import Path

LIMIT = 600.0
CALLS = (("test", "."), ("vet", "."))
"""`go test` vets by some rules only; what `go vet` knows of the library is kept as well."""
TEST = """package warm

import (
	_ "bufio"
	_ "bytes"
	_ "context"
	_ "encoding/json"
	_ "errors"
	_ "io"
	_ "math"
	_ "net/http/httptest"
	_ "os/exec"
	_ "path/filepath"
	_ "reflect"
	_ "regexp"
	_ "slices"
	_ "sort"
	_ "strconv"
	_ "strings"
	_ "sync"
	"testing"
	_ "testing/quick"
	_ "time"
)

func TestWarm(t *testing.T) {}
"""


@cache
def standard_library(go: str) -> Path | None:
    """The cache for this very Go, made now if it is not there; none where it can't be made: then each run compiles."""
    told = subprocess.run(
        [go, "env", "GOVERSION", "GOROOT", "GOFLAGS", "CGO_ENABLED"],
        capture_output=True,
        timeout=60,
        start_new_session=True,
    )
    if told.returncode:
        return None
    parent = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "damascus")
    folder = parent / f"go-{hashlib.sha256(told.stdout + repr((CALLS, TEST)).encode()).hexdigest()[:16]}"
    try:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (parent / f"{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return folder if folder.exists() or _filled(go, folder) else None
    except (OSError, subprocess.SubprocessError):
        return None


def _filled(go: str, folder: Path) -> bool:
    draft = folder.with_name(f".{uuid.uuid4().hex}")
    module = draft / "module"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module warm\n")
    (module / "warm_test.go").write_text(TEST)
    env = {name: os.environ[name] for name in ("PATH", "HOME", "GOROOT") if name in os.environ}
    env |= {"GOCACHE": str(draft / "cache"), "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOPROXY": "off"}
    done = all(_called(go, call, module, env) for call in CALLS)
    if done:
        (draft / "cache").rename(folder)
    shutil.rmtree(draft, ignore_errors=True)
    return done


def _called(go: str, call: tuple[str, ...], module: Path, env: dict[str, str]) -> bool:
    run = subprocess.run([go, *call], cwd=module, env=env, capture_output=True, timeout=LIMIT, start_new_session=True)
    return run.returncode == 0
