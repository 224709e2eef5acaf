# Everything a person does with this checkout. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help venv packages demo demo-down kubeconfig test test-fast test-controlplane e2e bench check format generate

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CLUSTER := $(PYTHON) -m tests.cluster

##@ Look
help: ## Show this list
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36mTARGET\033[0m\n"} /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*##/ {printf "  \033[36m%-18s\033[0m%s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Run it
demo: venv packages ## A kind cluster with the chart installed and example jobs run; leaves it up
	$(BIN)/python -m tests.demo

demo-down: ## Remove the demo cluster and all that it started, but the cache
	$(CLUSTER) kind down

kubeconfig: ## Print the path of the demo cluster's kubeconfig
	@$(CLUSTER) kubeconfig

##@ Check it
test: venv packages ## All tests: core, API server, chart, guards, end to end on kind
	$(BIN)/python -m pytest --durations=15

test-fast: venv ## The tests that need no cluster (under a minute)
	$(BIN)/python -m pytest -q -m "not controlplane and not kind and not helm"

test-controlplane: venv packages ## The tests on a real control plane, and of the chart
	$(BIN)/python -m pytest -m "controlplane or helm"

e2e: venv packages ## The tests on kind
	$(BIN)/python -m pytest -m kind

check: venv ## Format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	MYPYPATH=operator:.:crds $(BIN)/mypy --explicit-package-bases \
	  tests/cluster tests/demo tests/bench tests/support tests/e2e/conftest.py crds/generate.py
	$(BIN)/lint-imports

bench: venv packages ## Measure; prints a table and writes build/bench.json
	$(BIN)/python -m tests.bench

##@ Change it
format: venv ## Format the code and mend what can be mended by machine
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

generate: venv ## Write again what is made from sources: CRDs, tables in the docs
	$(BIN)/python crds/generate.py
	$(BIN)/python -m tests.guards.reasons_table
	$(BIN)/python -m tests.chart.readme

##@ Set it up
venv: $(VENV)/.ready ## The virtual environment with everything that the checks need

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

packages: ## The Debian packages that clusters need (only what is missing)
	$(CLUSTER) packages
