"""go test is read test by test, by its own machine output, whatever the Test Command looks like."""

import shutil
from pathlib import Path

import pytest

from damascus.domain.ports import GateResult
from tests.gates.judging import Content, Judging, verdicts
from tests.toolchains import need_program

MOD = "module example.com/shop\n\ngo 1.20\n"
BASE = {"go.mod": MOD, "shop.go": "package shop\n", "Makefile": "test:\n\tgo test ./...\n"}
CODE = "package shop\n\nfunc Price(cents int) int { return cents * 2 }\n"
HEAD = 'package shop\n\nimport "testing"\n\n'
TEST = HEAD + 'func TestREQ_001_Price(t *testing.T) {\n\tif Price(2) != 4 {\n\t\tt.Fatal("wrong")\n\t}\n}\n'


def judged(folder: Path, files: dict[str, Content], command: str = "go test ./...") -> GateResult:
    need_program("go")
    judging = Judging.of(folder, BASE)
    work = {"shop.go": CODE, "shop_test.go": TEST, **files}
    return judging.tests(judging.candidate(work, command=command, scope=tuple(work)))


@pytest.mark.req("D7")
@pytest.mark.parametrize("command", ["go test ./...", "make test", "sh -c 'go test -v .'", "go test -run REQ ./..."])
def test_each_test_is_known_by_its_file(tmp_path: Path, command: str) -> None:
    result = judged(tmp_path, {}, command)
    assert result.findings == []
    assert "shop_test.go::TestREQ_001_Price" in result.green_tests


HIDDEN = HEAD + 'func TestHidden(t *testing.T) {\n\tif Price(2) != 5 {\n\t\tt.Fatal("wrong")\n\t}\n}\n'
EXIT = HEAD.replace('"testing"', '(\n\t"os"\n\t"testing"\n)')


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"main_test.go": EXIT + "func TestMain(m *testing.M) { os.Exit(0) }\n"}, "no test ran"),
        ({"shop.go": CODE.replace("shop\n", 'shop\n\nimport "os"\n\nfunc init() { os.Exit(0) }\n', 1)}, "no test ran"),
        ({"more_linux_arm64_test.go": HIDDEN, "more_plan9_test.go": HIDDEN}, "more_plan9_test.go::TestHidden"),
        ({"more_test.go": "//go:build never\n\n" + HIDDEN}, "more_test.go::TestHidden"),
        ({"_more_test.go": HIDDEN}, "_more_test.go::TestHidden"),
        ({"more_test.go": HIDDEN.replace("shop\n", "main\n", 1)}, "failed"),
    ],
    ids=["TestMain", "init", "suffix", "tag", "underscore", "package"],
)
def test_what_does_not_run_is_not_green(tmp_path: Path, files: dict[str, Content], told: str) -> None:
    result = judged(tmp_path, files)
    assert verdicts(result) == ["tests_failed"] and told in result.findings[0].message


def test_a_go_that_can_not_be_read_has_not_passed(tmp_path: Path) -> None:
    need_program("go")
    result = judged(tmp_path, {}, f"{shutil.which('go')} test -v ./...")
    assert verdicts(result) == ["tests_failed"] and "no report of single tests (go)" in result.findings[0].message


@pytest.mark.parametrize(
    "files",
    [
        {"main_test.go": EXIT + "func TestMain(m *testing.M) { os.Exit(m.Run()) }\n"},
        {"ext_test.go": TEST.replace("package shop", "package shop_test").replace("Price(2)", "shop.Price(2)")
         .replace('"testing"', '(\n\t"testing"\n\n\t"example.com/shop"\n)').replace("REQ_001", "Outside")},
        {"tax/tax.go": "package tax\n\nfunc Of(c int) int { return c }\n",
         "tax/tax_test.go": TEST.replace("package shop", "package tax").replace("Price(2) != 4", "Of(2) != 2")},
        {"more_test.go": HEAD + "func TestTable(t *testing.T) {\n\tfor _, n := range []int{1, 2} {\n"
         '\t\tt.Run("n", func(t *testing.T) {\n\t\t\tt.Parallel()\n'
         "\t\t\tif Price(n) < n {\n\t\t\t\tt.Error(n)\n\t\t\t}\n"
         "\t\t})\n\t}\n}\n\nfunc helper(t *testing.T) { t.Helper() }\n\nfunc ExamplePrice() {}\n"},
        {"shop_windows.go": "package shop\n", "shop_windows_test.go": HIDDEN},
    ],
    ids=["TestMain that runs them", "external package", "another package", "table", "another platform's file"],
)  # fmt: skip
def test_honest_ways_to_test_are_green(tmp_path: Path, files: dict[str, Content]) -> None:
    assert judged(tmp_path, files).findings == []
