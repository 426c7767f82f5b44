"""Lint and build of a Go module. The compiler checks the types, so there is no command of its own for them."""

from damascus.stacks.stack import BaseFiles, FoundCommand

LINTER = tuple(f".golangci.{ending}" for ending in ("yml", "yaml", "toml", "json"))


def commands(base: BaseFiles) -> list[FoundCommand]:
    if "go.mod" not in base.listing:
        return []
    found = [FoundCommand("lint", "vet", "go vet ./..."), FoundCommand("build", "go", "go build ./...")]
    if any(name in base.listing for name in LINTER):
        found.append(FoundCommand("lint", "golangci", "golangci-lint run"))
    return found
