# Every target sets itself up: only Python 3.11 or newer is needed.
SHELL := /bin/bash
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed
PURE := prober/domain/*,prober/prompt/*,prober/stats/*,prober/detect/*,prober/plan/*

.DEFAULT_GOAL := help
.PHONY: help demo test check format lock bench selftest engine-llamacpp engine-llamacpp-install clean

help: ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

$(BIN)/python:
	@"$(or $(PYTHON),false)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed, and $(or $(PYTHON),python3) is none; set PYTHON=/path/to/python3" >&2; exit 2; }
	@echo "setting up $(VENV) with $(PYTHON)" >&2
	@$(PYTHON) -m venv $(VENV)

$(RUNTIME): requirements.lock pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(DEV): requirements-dev.lock pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@ $(RUNTIME)

demo: $(RUNTIME) ## Find the incident in the embedded lab, then clear the fixed cluster
	@$(BIN)/prober demo

selftest: $(RUNTIME) ## Prove that every fault of the lab is found, and nothing in the healthy cluster
	@$(BIN)/prober selftest

test: $(DEV) engine-llamacpp-install ## Run all tests with coverage
	@rm -f .coverage .coverage.*
	$(BIN)/python -m pytest --cov --cov-report= $(PYTEST_ARGS)
	$(BIN)/coverage report --include='$(PURE)' --fail-under=100
	$(BIN)/coverage report --fail-under=90

check: $(DEV) ## Format, lint, types, import contracts, dependencies, Dockerfile
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/hadolint Dockerfile

format: $(DEV) ## Format and fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(DEV) ## Print the figures that the docs quote
	$(BIN)/python -m benchmarks

engine-llamacpp-install: $(DEV) ## Install llama.cpp's server and a small LLM into an environment of their own
	@PYTHON="$(PYTHON)" bash tests/engines/llamacpp/install.sh

engine-llamacpp: engine-llamacpp-install ## Probe a real llama.cpp server with baseline and limit_sweep
	$(BIN)/python -m tests.engines.llamacpp.probe

lock: $(DEV) ## Recompute both lock files
	$(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock" -o requirements.lock
	$(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 --extra dev --generate-hashes --custom-compile-command "make lock" -o requirements-dev.lock

clean: ## Remove everything that was set up
	rm -rf $(VENV) .engines .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
