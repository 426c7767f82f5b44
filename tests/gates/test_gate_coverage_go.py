"""Gate coverage in Go, by the profiles of `go test`."""

from pathlib import Path

import pytest

from tests.gates.coverage_projects import REFUSED, Project, judge, passes_and_goes_back
from tests.gates.judging import Judging, verdicts
from tests.toolchains import need_program

GO_CODE = """package m

func Price(count int) int {
	if count > 10 {
		unit := 2
		unit = unit + 1
		unit--
		return count * unit
	}
	return count * 3
}
"""
GO_HALF = (
    'package m\n\nimport "testing"\n\nfunc TestReq001(t *testing.T) {\n\tif Price(1) != 3 {\n\t\tt.Fatal()\n\t}\n}\n'
)
GO_WHOLE = GO_HALF + "\nfunc TestReq002(t *testing.T) {\n\tif Price(20) != 40 {\n\t\tt.Fatal()\n\t}\n}\n"
GO = Project(
    command="go test ./...",
    code=GO_CODE,
    path="price.go",
    test="price_test.go",
    whole=GO_WHOLE,
    half=GO_HALF,
    lines="price.go:5-8",
    base={"go.mod": "module example.com/m\n\ngo 1.21\n", "doc.go": "package m\n"},
)


@pytest.mark.req("A16")
def test_lines_that_run_pass_and_lines_that_do_not_go_back(tmp_path: Path) -> None:
    need_program("go")
    passes_and_goes_back(Judging.of(tmp_path, dict(GO.base)), GO)


@pytest.mark.req("A16")
def test_a_go_file_that_is_left_out_of_the_build_is_uncovered(tmp_path: Path) -> None:
    need_program("go")
    judging = Judging.of(tmp_path, dict(GO.base))
    files = {
        "price.go": GO_CODE,
        "price_test.go": GO_WHOLE,
        "far.go": "//go:build plan9\n\n" + GO_CODE.replace("P", "Far"),
    }
    result = judge(judging, files, GO.command)
    assert verdicts(result) == REFUSED and "far.go" in result.findings[0].message


@pytest.mark.req("A16")
def test_two_calls_of_go_count_together(tmp_path: Path) -> None:
    need_program("go")
    judging = Judging.of(tmp_path, dict(GO.base))
    command = "go test -run Req001 ./... && go test -run Req002 ./..."
    result = judge(judging, {"price.go": GO_CODE, "price_test.go": GO_WHOLE}, command)
    assert (verdicts(result), result.unverified) == ([], [])
