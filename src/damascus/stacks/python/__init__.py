"""Python: pytest and unittest. Sources are read by their syntax tree, never by running them."""

import re
from collections.abc import Collection
from pathlib import Path

from damascus.stacks.python.habits import HABITS
from damascus.stacks.stack import CheckSettings, Footprint, Later, Reporting, Runner, Stack, Toolchain, paths, word

HERE = Path(__file__).parent
ROOM = "damascus.stacks.python"

FOOTPRINT = Footprint(
    lock_files=("poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "Pipfile", "pyproject.toml", "setup.py",
                "setup.cfg", ".python-version"),
    lock_patterns=("requirements*.txt", "constraints*.txt", "requirements/*.txt"),
    packages=(".venv",),
    package_marks=("pyvenv.cfg",),
    caches=("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".venv",
            "venv"),
    remade=("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox"),
    left=("*.pyc", "*.pyo", "*.egg-info/", ".coverage"),
    stale=(".pyc", ".pyo"),
)  # fmt: skip

INSTALLED = """import os, sys
found = {name for folder in sys.path if os.path.isdir(folder) for name in os.listdir(folder)}
print(sys.version, sorted(name for name in found if name.endswith((".dist-info", ".egg-info", ".pth"))))"""
"""The version and what is installed beside it: a test sees both."""

TOOLCHAIN = Toolchain(
    programs=("python3",),
    versions=(("python3", "-I", "-c", INSTALLED), ("python", "-I", "-c", INSTALLED)),
    find_themselves=("PYENV_ROOT",),
    chosen=("VIRTUAL_ENV",),
    below_home=(".pyenv", ".local/share/uv/python", ".local/share/uv/tools", ".local/share/pipx/venvs",
                ".local/pipx/venvs"),
    registries=("PIP_INDEX_URL", "PIP_CERT"),
    always={"PYTHONDONTWRITEBYTECODE": "1"},
    caches={"PIP_CACHE_DIR": "pip", "UV_CACHE_DIR": "uv", "MYPY_CACHE_DIR": "mypy", "RUFF_CACHE_DIR": "ruff"},
)  # fmt: skip

PYTEST = Runner(
    "pytest",
    leaves_out=("-k", "-m", "--deselect", "--lf", "--last-failed", "--sw", "--stepwise"),
    selects=Later(f"{ROOM}.selection:pytest_selects"),
    covers=Later(f"{ROOM}.selection:pytest_covers"),
    summary=Later(f"{ROOM}.printed:pytest_summary"),
    line=re.compile(
        r"^={0,200} ?(?:\d{1,9} (?:subtests )?(?:failed|passed|skipped|deselected|xfailed|xpassed"
        r"|warnings?|errors?|rerun)(?:, )?){1,15}"
        r" in [\d.]{1,20}s[^\n]{0,300}$",
        re.M,
    ),
)
UNITTEST = Runner(
    "unittest",
    selects=Later(f"{ROOM}.selection:unittest_selects"),
    covers=Later(f"{ROOM}.selection:unittest_covers"),
    summary=Later(f"{ROOM}.printed:unittest_summary"),
    line=re.compile(r"^Ran \d{1,9} tests? in [\d.]{1,20}s\n\n(?:OK|FAILED|NO TESTS RAN)[^\n]{0,300}$", re.M),
    names_unloaded=True,
)


def _set_up(listing: Collection[str]) -> str:
    packaged = "requirements.txt" not in listing and {"pyproject.toml", "setup.py"} & set(listing)
    return f"python3 -m venv .venv && .venv/bin/pip install {'-e . pytest' if packaged else '-r requirements.txt'}"


CHECK_SETTINGS = CheckSettings(
    own=paths(
        r"\.?ruff\.toml",
        r"\.?mypy\.ini",
        r"\.flake8",
        r"pyrightconfig\.json",
        r"\.?pylintrc(?:\.toml)?",
        r"\.ignore",  # ruff looks at nothing that it names
    ),
    parts={
        "pyproject.toml": ("tool.ruff", "tool.mypy", "tool.pyright", "tool.basedpyright", "tool.pylint", "tool.flake8",
                           "tool.black", "tool.isort", "tool.ty", "tool.pyrefly"),
        "setup.cfg": ("mypy*", "flake8*", "pylint*", "isort*"),
        "tox.ini": ("flake8*", "pylint*", "isort*"),
    },
)  # fmt: skip

STACK = Stack(
    name="python",
    roots=("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "pytest.ini", "Pipfile"),
    extensions=(".py",),
    tests=paths(r"test_[^/]*\.py", r"[^/]*_test\.py", r"tests?\.py"),
    judges=paths(
        r"conftest\.py",
        r"\.?pytest\.(?:ini|toml)",
        r"(?:tox|mypy|\.mypy)\.ini",
        r"setup\.cfg",
        r"pyproject\.toml",
        r"(?:site|user)customize(?:\.py|/.*)",
        r"[^/]*\.pth",
        r"\.coveragerc",
        r"noxfile\.py",
        r"_?pytest(?:\.py|/.*)",
        r"unittest(?:\.py|/.*)",
        r"\.?ruff\.toml",
        r"\.flake8",
        r"\.?pylintrc[^/]*",
        r"pyrightconfig\.json",
        r"\.?venv/.*",
        r"[^/]*\.pyc",
    ),
    command=lambda listing: "python3 -m pytest -q",
    file_command=Later(f"{ROOM}.file_command:file_command"),
    read=Later(f"{ROOM}.source:read"),
    written=lambda name: name.partition("[")[0],
    tests_beside=False,
    inner_tests=Later(f"{ROOM}.examples:EXAMPLES"),
    no_tests=("__init__.py", "conftest.py"),
    footprint=FOOTPRINT,
    toolchain=TOOLCHAIN,
    install=(
        (
            r"ModuleNotFoundError|No module named ",
            _set_up,
        ),
    ),
    commands=Later(f"{ROOM}.commands:commands"),
    check_settings=CHECK_SETTINGS,
    parsed_here=True,
    runners=(UNITTEST, PYTEST),
    counts=re.compile(word(r"(?:py\.test|pytest)") + r"|-m\s+unittest\b"),
    reporting=Reporting(
        files=tuple(HERE / "runner" / name for name in ("python_start.py", "unittest_places.py", "unittest_report.py")),
        by_python="python_start.py",
    ),
    habits=HABITS,
    cases=Later(f"{ROOM}.cases:CASES"),
    canaries=Later(f"{ROOM}.canaries:PYTHON"),
    mutants=Later(f"{ROOM}.mutants:MUTANTS"),
    mutation_tool=Later(f"{ROOM}.mutmut:MUTMUT"),
    line_mutants=Later(f"{ROOM}.line_mutants:line_mutants"),
    probe=Later(f"{ROOM}.probe.reading:PythonProbe"),
    other_setting=Later(f"{ROOM}.other_setting:OtherSetting"),
    coverage=Later(f"{ROOM}.statements:COVERAGE"),
    awareness=Later(f"{ROOM}.awareness:references"),
    own_code=Later(f"{ROOM}.own_code:OWN_CODE"),
)
