"""As a service: the unit is one that systemd takes, holds no key, and nothing is enabled without a word."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from damascus.domain.errors import DamascusError
from damascus.domain.systemd_unit import Unit
from damascus.people import as_service
from tests.rules.tree import ROOT
from tests.yard import Yard

SYSTEMCTL = """#!/bin/sh
echo "$@" >> {log}
case "$2" in is-enabled) echo disabled;; is-active) echo inactive; exit 3;; esac
"""


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    made = Yard(tmp_path, database_url)
    program = tmp_path / "bin" / "systemctl"  # a stand-in: no test may touch the machine's own services
    program.parent.mkdir()
    program.write_text(SYSTEMCTL.format(log=tmp_path / "asked"))
    program.chmod(0o755)
    made.app.environ |= {"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": str(tmp_path / "person")}
    return made


def asked(yard: Yard) -> list[str]:
    log = yard.folder / "asked"
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.req("X18")
def test_installing_enables_nothing_and_says_so(yard: Yard) -> None:
    unit = as_service.unit_of(yard.app, yard.project, ("--port", "8421"))
    done = as_service.install(yard.app, unit, enable=False)
    file = as_service.place(unit, yard.app.environ)
    assert file.read_text() == unit.text and "Nothing was enabled or started" in done.said and asked(yard) == []
    assert f"systemctl --user enable --now {unit.name}" in done.following
    assert as_service.install(yard.app, unit, enable=False).said.startswith("unchanged")
    asked_again = as_service.unit_of(yard.app, yard.project)
    found = as_service.standing(yard.app, asked_again)
    assert "differs" not in found.said, "by its port alone"
    file.write_text(unit.text.replace("UMask=0077", "UMask=0000"))
    assert "differs" in as_service.standing(yard.app, asked_again).said
    assert (found.installed, found.enabled, found.active) == (True, "disabled", "inactive")


@pytest.mark.req("X18")
def test_enabling_is_asked_for_and_removing_takes_it_all_back(yard: Yard) -> None:
    unit = as_service.unit_of(yard.app, yard.project)
    done = as_service.install(yard.app, unit, enable=True)
    assert asked(yard) == ["--user daemon-reload", f"--user enable --now {unit.name}"]
    assert "enabled and started, as you asked" in done.said
    as_service.remove(yard.app, unit)
    assert f"--user disable --now {unit.name}" in asked(yard)
    assert not as_service.place(unit, yard.app.environ).exists()
    with pytest.raises(DamascusError, match="there is no service of this project"):
        as_service.remove(yard.app, unit)


@pytest.mark.req("X18")
def test_the_unit_holds_no_key_and_names_the_file_that_does(yard: Yard) -> None:
    yard.app.environ |= {"ANTHROPIC_API_KEY": "sk-secret-1", "DAMASCUS_DATABASE_URL": "postgresql://a:b@c/d"}
    unit = as_service.unit_of(yard.app, yard.project)
    assert "sk-secret-1" not in unit.text and "postgresql://" not in unit.text
    assert f"EnvironmentFile=-%E/{unit.secrets}" in unit.text
    assert unit.secrets in as_service.install(yard.app, unit, enable=False).following


@pytest.mark.req("X18")
def test_systemd_takes_the_unit_whatever_the_folder_is_called(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze: apt-get install systemd")
    folder = tmp_path / 'a folder, 100% "mine" $HOME'
    folder.mkdir()
    program = shutil.which("env")
    assert program is not None
    unit = Unit(
        'calc "x" 50%', str(folder), [program, "up", "--name", 'a "b" $HOME %h'], {"PATH": "/bin:/a b", "X": "%n"}
    )
    file = tmp_path / unit.name
    file.write_text(unit.text)
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(file)],
        env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True, text=True, start_new_session=True,
    )  # fmt: skip
    ours = [line for line in verified.stderr.splitlines() if unit.name in line or "Unknown" in line]
    assert (verified.returncode, ours) == (0, []), verified.stderr
    broken = tmp_path / "broken.service"
    broken.write_text(unit.text.replace("Type=exec", "Type=sometimes"))
    words = ["systemd-analyze", "verify", "--user", "--man=no", str(broken)]
    told = subprocess.run(
        words, env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True, text=True, start_new_session=True,
    )  # fmt: skip
    assert "sometimes" in told.stderr, "what is wrong would be seen"


# ── the team's example ────────────────────────────────────────────────────────────────────────────────

TEAM = ROOT / "examples" / "team"
PINNED = re.compile(r"^[a-z0-9.-]+/[a-z0-9./_-]+:\d+\.\d+(\.\d+)?(-[a-z0-9-]+)?$")
KEY = re.compile(r"(password|secret|token|key)\s*[:=]\s*['\"]?[A-Za-z0-9]{6,}", re.IGNORECASE)


def composed() -> dict[str, Any]:
    found = yaml.safe_load((TEAM / "compose.yaml").read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.req("X18")
def test_the_compose_example_pins_its_images_and_holds_no_secret() -> None:
    services = composed()["services"]
    assert {"database", "worker"} <= services.keys()
    for name, service in services.items():
        assert PINNED.match(service["image"]), f"{name}: a registry, a name and a version"
        assert "ports" not in service and not service.get("privileged"), name
        assert not KEY.search(yaml.safe_dump(service.get("environment", {}))), name
    database = services["database"]["environment"]
    assert "POSTGRES_PASSWORD" not in database and database["POSTGRES_PASSWORD_FILE"].startswith("/run/secrets/")
    assert services["worker"]["depends_on"]["database"]["condition"] == "service_healthy"
    named = {secret for service in services.values() for secret in service.get("secrets", [])}
    assert named == set(composed()["secrets"])
    assert (TEAM / ".gitignore").read_text().split() == ["secrets/"]


@pytest.mark.req("X18")
def test_the_container_runs_as_nobody_special_and_copies_what_is_there() -> None:
    lines = [line for line in (TEAM / "Containerfile").read_text().replace("\\\n", " ").splitlines() if line.strip()]
    steps = [tuple(line.split(None, 1)) for line in lines if not line.startswith("#")]
    known = {"FROM", "RUN", "COPY", "USER", "ENV", "VOLUME", "ENTRYPOINT", "CMD"}
    assert {word for word, _ in steps} <= known
    [image] = [rest for word, rest in steps if word == "FROM"]
    assert PINNED.match(image)
    users = [rest for word, rest in steps if word == "USER"]
    assert users and users[-1] not in ("root", "0")
    sources = [part for word, rest in steps if word == "COPY" for part in rest.split()[:-1]]
    assert sources and [name for name in sources if not (ROOT / name).exists()] == []
    assert not any(KEY.search(rest) for word, rest in steps if word in ("ENV", "RUN"))
