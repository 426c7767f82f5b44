# Two commands are enough: `make demo` and `make test`. Both set up .venv from pyproject.toml.
PY := .venv/bin/python
.DEFAULT_GOAL := help

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

.venv/ready: pyproject.toml
	@test -x $(PY) || python3 -m venv .venv
	@echo "setting up .venv (once; about a minute)"
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@$(PY) -m compileall -q src/damascus
	@touch $@

setup: .venv/ready  ## make .venv with Damascus and its tools

demo: .venv/ready  ## five stories from spec to main: no key, no server, no network
	@.venv/bin/damascus demo

check: .venv/ready  ## lint, types, layers
	@.venv/bin/ruff check src tests bench
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-cache >/tmp/.damascus-layers.$$$$ 2>&1 || { cat /tmp/.damascus-layers.$$$$; rm -f /tmp/.damascus-layers.$$$$; exit 1; }; rm -f /tmp/.damascus-layers.$$$$

test: check  ## check, then the whole suite
	@$(PY) -m pytest -n 2 --dist worksteal

.venv/bench: .venv/ready
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

bench: .venv/bench  ## the numbers of docs/performance.md, as ratios in one run
	@$(PY) -m bench

.PHONY: help setup demo check test bench
