# Two commands are enough: `make demo` and `make test`. Both set up .venv from pyproject.toml.
PY := .venv/bin/python
# More than this suite's two cores: many tests wait for a lease, a poll or another program, and none goes by the clock.
WORKERS ?= 3
PYTEST = $(PY) -m pytest -n $(WORKERS) --dist worksteal
QUICK := tests/domain tests/rules tests/scanning tests/stacks tests/store tests/writes
.DEFAULT_GOAL := help

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

.venv/ready: pyproject.toml constraints.txt
	@test -x $(PY) || python3 -m venv .venv
	@echo "setting up .venv (once; about a minute)"
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,contracts,visual,receipts,mcp,traces]'
	@$(PY) -m compileall -q src/damascus
	@touch $@

setup: .venv/ready  ## make .venv with Damascus and its tools

demo: .venv/ready  ## five stories from spec to main: no key, no server, no network
	@.venv/bin/damascus demo

# Everything by package name and version, into .components: the real agents, gateway and test runners that the tests use.
COMPONENTS := .components
CLAUDE := claude-agent-sdk==0.2.182
LITELLM := litellm[proxy]==1.106.2
CODEX := @openai/codex@0.166.0
OPENCODE := opencode-ai@1.18.33
NODE_RUNNERS := jest@30.5.2 vitest@4.1.12 @vitest/coverage-v8@4.1.12 mocha@12.0.3 esbuild@0.28.2 zod@4.6.7 typescript@5.9.3 eslint@9.39.5

$(COMPONENTS)/ready: Makefile
	@echo "installing Claude Code, LiteLLM, Codex and opencode into $(COMPONENTS) (once; a few minutes)"
	@mkdir -p $(COMPONENTS)/bin
	@python3 -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(COMPONENTS)/claude '$(CLAUDE)'
	@test -x $(COMPONENTS)/gateway/bin/python || python3 -m venv $(COMPONENTS)/gateway
	@$(COMPONENTS)/gateway/bin/pip install --quiet --disable-pip-version-check '$(LITELLM)'
	@npm install --silent --no-audit --no-fund --prefix $(COMPONENTS)/npm '$(CODEX)' '$(OPENCODE)'
	@ln -sf ../claude/claude_agent_sdk/_bundled/claude $(COMPONENTS)/bin/claude
	@ln -sf ../gateway/bin/litellm $(COMPONENTS)/bin/litellm
	@ln -sf ../npm/node_modules/.bin/codex $(COMPONENTS)/bin/codex
	@ln -sf ../npm/node_modules/.bin/opencode $(COMPONENTS)/bin/opencode
	@touch $@

# A folder of their own: tests lay its node_modules into projects.
$(COMPONENTS)/node-runners/ready: Makefile
	@mkdir -p $(COMPONENTS)/node-runners
	@npm install --silent --no-audit --no-fund --prefix $(COMPONENTS)/node-runners $(NODE_RUNNERS)
	@touch $@

components: $(COMPONENTS)/ready $(COMPONENTS)/node-runners/ready  ## real programs for the tests: Claude Code, LiteLLM, Codex, opencode, jest, vitest, mocha, Zod, TypeScript, ESLint

# Into the same folder; only the tests need it, a user's own is found on the PATH.
$(COMPONENTS)/bin/oasdiff: Makefile
	@mkdir -p $(COMPONENTS)/bin
	@GOBIN="$(abspath $(COMPONENTS)/bin)" go install github.com/oasdiff/oasdiff@v1.30.0
	@touch $@

oasdiff: $(COMPONENTS)/bin/oasdiff  ## oasdiff, for the tests of gate contracts (needs Go)

# Real forges, built once into a cache folder from published modules and packages by name and version.
forge:  ## Gitea and its runner, for the tests and `damascus forge try` (needs Go and gcc; once some 4 minutes)
	@tools/forge/build tools/forge

forge-older:  ## an older Gitea, for the contract suite of its adapter
	@tools/forge/build tools/forge-1.25

radicle:  ## Radicle, the target of the mirror job in the tests (needs Rust; once some 5 minutes)
	@tools/radicle/build

browser:  ## Chromium from Debian's package, for the tests of gate visual (needs root; once)
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }

mutation-tools:  ## mutmut, Stryker, gremlins and cargo-mutants, for the tests and the bench (once some 6 minutes)
	@tools/mutation/build

llvm:  ## Debian's llvm-cov for the version of rustc, for the tests of coverage in Rust
	@tools/llvm/build

check: .venv/ready  ## lint, types, layers
	@$(MAKE) --no-print-directory --jobs 3 lint types layers

lint: .venv/ready
	@.venv/bin/ruff check src tests bench tools

types: .venv/ready
	@.venv/bin/mypy

layers: .venv/ready
	@.venv/bin/lint-imports --no-cache >/tmp/.damascus-layers.$$$$ 2>&1 || { cat /tmp/.damascus-layers.$$$$; rm -f /tmp/.damascus-layers.$$$$; exit 1; }; rm -f /tmp/.damascus-layers.$$$$

# Where a shell forbids Python to write them, each command of ours that a test starts would compile what was changed.
compiled: .venv/ready
	@$(PY) -m compileall -q src/damascus

test: check compiled  ## check, then every test and a sample of the matrices, by a seed that is printed (SEED=N repeats one)
	@$(PYTEST) --matrices sample --seed "$(SEED)"

proof: compiled  ## the matrices whole: kills, lies, escapes, forges, agents (SEED=N: without what `make test SEED=N` ran; SHARE=0.5: half)
	@$(PYTEST) --matrices $(if $(SEED),rest,only) --seed "$(SEED)" --share $(or $(SHARE),1)

quick: check compiled  ## check, then the tests that start no worker: under two minutes
	@$(PYTEST) --matrices none $(QUICK)

.venv/bench: .venv/ready
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@touch $@

bench: .venv/bench  ## the numbers of docs/performance.md, as ratios in one run
	@$(PY) -m bench

.PHONY: help setup demo components oasdiff forge forge-older radicle browser mutation-tools llvm check lint types layers compiled test proof quick bench
