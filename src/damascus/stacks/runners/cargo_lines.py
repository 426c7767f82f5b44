"""Which lines the binaries of one `cargo test` ran, where anybody asks: the compiler's instruments, read by LLVM."""

import os
import re
import shutil
import subprocess
import uuid

from damascus.stacks.runners.record import LINES, next_program

INSTRUMENT = "-C instrument-coverage"
SEPARATOR = "\x1f"
NEWER = 6
"""LLVM reads profiles of older versions, so these many later ones are looked for, too."""
VERSION = re.compile(r"LLVM version:? (\d+)")
OBJECTS = "objects"


class CargoLines:
    """`env` is what cargo needs besides; nothing where nobody asks, or nobody could read it."""

    def __init__(self, cargo: str) -> None:
        self.env: dict[str, str] = {}
        wanted = os.environ.get(LINES)
        self._folder = os.path.join(wanted, "rust") if wanted else ""
        if not self._folder or not os.path.isdir(self._folder):
            return
        compiler = RustCompiler(next_program("rustc", os.path.dirname(cargo)) or "rustc")
        self._tools = compiler.tools()
        if self._tools is None:
            self._write(
                "why",
                f"nothing here reads the profiles of rustc (LLVM {compiler.major}): install llvm-{compiler.major}",
            )
            return
        self._profiles = os.path.join(self._folder, f"profiles-{uuid.uuid4().hex}")
        os.mkdir(self._profiles)
        self.env = {**_flags(), "LLVM_PROFILE_FILE": os.path.join(self._profiles, "%p-%16m.profraw")}

    def keep(self) -> None:
        """Here, where the code under test runs: its binaries are read by nobody outside."""
        raw = [os.path.join(self._profiles, name) for name in os.listdir(self._profiles)] if self.env else []
        objects = self._objects() if raw else []
        if not raw or not objects or self._tools is None:
            return
        merge, export = self._tools
        merged = os.path.join(self._profiles, "merged")
        subprocess.call([merge, "merge", "-sparse", "-failure-mode=all", "-o", merged, *raw], stderr=subprocess.DEVNULL)
        others = [word for one in objects[1:] for word in ("--object", one)]
        words = [export, "export", "--format=lcov", f"--instr-profile={merged}", objects[0], *others]
        told = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
        if told:
            self._write("info", told.decode("utf-8", "replace"))

    def _objects(self) -> "list[str]":
        try:
            with open(os.path.join(self._folder, OBJECTS), encoding="utf-8") as file:
                return [one for one in dict.fromkeys(file.read().split("\n")) if one and os.path.exists(one)]
        except OSError:
            return []

    def _write(self, ending: str, text: str) -> None:
        with open(os.path.join(self._folder, f"{uuid.uuid4().hex}.{ending}"), "w", encoding="utf-8") as file:
            file.write(text)


def add_object(binary: str) -> None:
    """Told by what cargo starts in place of a test binary."""
    wanted = os.environ.get(LINES)
    try:
        with open(os.path.join(wanted or "", "rust", OBJECTS), "a", encoding="utf-8") as file:
            file.write(os.path.abspath(binary) + "\n")
    except OSError:
        return


def _flags() -> "dict[str, str]":
    """Beside the project's own, wherever cargo takes those from first."""
    if "CARGO_ENCODED_RUSTFLAGS" in os.environ:
        own = os.environ["CARGO_ENCODED_RUSTFLAGS"]
        return {"CARGO_ENCODED_RUSTFLAGS": SEPARATOR.join(filter(None, [own, *INSTRUMENT.split()]))}
    return {"RUSTFLAGS": f"{os.environ.get('RUSTFLAGS', '')} {INSTRUMENT}".strip()}


class RustCompiler:
    """What rustc says of itself."""

    def __init__(self, rustc: str) -> None:
        said = _output([rustc, "-vV"])
        found, host = VERSION.search(said), re.search(r"^host: (\S+)", said, re.MULTILINE)
        self.major = int(found[1]) if found else 0
        sysroot = _output([rustc, "--print", "sysroot"]).strip()
        self._own = os.path.join(sysroot, "lib", "rustlib", host[1] if host else "", "bin")

    def tools(self) -> "tuple[str, str] | None":
        """llvm-profdata and llvm-cov: rustup's own, else Debian's of this version or a later one."""
        later = [f"/usr/lib/llvm-{number}/bin" for number in range(self.major, self.major + NEWER)]
        for folder in (self._own, *later):
            if os.access(os.path.join(folder, "llvm-profdata"), os.X_OK):
                return os.path.join(folder, "llvm-profdata"), os.path.join(folder, "llvm-cov")
        merge, export = shutil.which("llvm-profdata"), shutil.which("llvm-cov")
        version = VERSION.search(_output([merge, "--version"])) if merge else None
        return (merge, export) if merge and export and version and int(version[1]) >= self.major > 0 else None


def _output(words: "list[str]") -> str:
    try:
        return subprocess.run(words, capture_output=True, check=False).stdout.decode("utf-8", "replace")
    except OSError:
        return ""
