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
.PHONY: help demo test check format lock bench bench-detection reliability web-test alerts-test image-test manifests selftest selftest-healthy selftest-page selftest-power engine-llamacpp engine-llamacpp-install clean

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

selftest-healthy: $(RUNTIME) ## Probe healthy labs at least 20,000 times: no violation, whatever honest failings come up
	@$(BIN)/prober selftest --healthy --marathon --seeds 200 --rounds 4

selftest-power: $(RUNTIME) ## How often each kind of fault is found by its scenario, over at least 60 seeds a kind
	@$(BIN)/prober selftest --faults --per-kind --seeds 60

selftest-page: $(RUNTIME) ## Write the matrix of every fault by every scenario to docs/selftest-matrix.md
	@$(BIN)/prober selftest --faults --healthy --full --page docs/selftest-matrix.md

selftest: $(RUNTIME) ## Prove that every fault of the lab is found, and nothing in the healthy cluster
	@$(BIN)/prober selftest

# A worker per processor; PYTEST_XDIST_AUTO_NUM_WORKERS=1 or PYTEST_ARGS=-n0 for fewer. More than eight wait for each other.
test: $(DEV) engine-llamacpp-install ## Run all tests with coverage
	@rm -f .coverage .coverage.*
	$(BIN)/python -m pytest -n logical --maxprocesses 8 --dist worksteal --cov --cov-report= $(PYTEST_ARGS)
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

bench-detection: $(DEV) ## Print false-alarm and power figures of the detection statistics, by simulation
	$(BIN)/python -m benchmarks.detection

reliability: $(DEV) ## Kill, stop and soak the service; print the table of docs/reliability.md (about an hour; RELIABILITY_ARGS=--quick)
	$(BIN)/python -m reliability $(RELIABILITY_ARGS)

engine-llamacpp-install: $(DEV) ## Install llama.cpp's server and a small LLM into an environment of their own
	@PYTHON="$(PYTHON)" bash tests/engines/llamacpp/install.sh

engine-llamacpp: engine-llamacpp-install ## Probe a real llama.cpp server with baseline and limit_sweep
	$(BIN)/python -m tests.engines.llamacpp.probe

web-test: $(DEV) ## Walk every page in real Chromium on a phone and a desk; screenshots go to reports/pages
	PROBER_TEST_SCREENSHOTS=reports/pages $(BIN)/python -m pytest -n0 tests/web $(PYTEST_ARGS)

alerts-test: $(DEV) ## From a leaking lab through Prometheus and Alertmanager to a webhook; a healthy lab tells nobody
	$(BIN)/python -m pytest -n0 tests/deploy/test_alert_chain.py $(PYTEST_ARGS)

manifests: $(DEV) ## Write dashboards, the Kustomize base and the chart's copies from what they follow from
	$(BIN)/python -m deploy.generate

image-test: ## Build the Dockerfile and run its image with docker, podman or buildah
	bash deploy/image_test.sh

lock: $(DEV) ## Recompute both lock files
	$(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock" -o requirements.lock
	$(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 --extra dev --generate-hashes --custom-compile-command "make lock" -o requirements-dev.lock

clean: ## Remove everything that was set up
	rm -rf $(VENV) .engines .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
