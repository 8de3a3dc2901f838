# `make demo` shows what the program does, `make check` tests everything.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DOCS   := $(VENV)/.installed-docs
OTHERS := $(VENV)/.installed-integrations

.PHONY: demo test test-integrations lint check docs coverage format clean

# Groups of dependencies need pip 25.1.
$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(STAMP)

$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet --group docs
	touch $(DOCS)

$(OTHERS): $(STAMP)
	$(BIN)/python -m pip install --quiet --group integrations
	touch $(OTHERS)

demo: $(STAMP)
	PATH="$(CURDIR)/$(BIN):$$PATH" VENV="$(VENV)" bash scripts/demo.sh

test: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not integration and not docs"

# Without PyTorch, the tests that learn a network are skipped: pip install torch
test-integrations: $(OTHERS)
	$(BIN)/python -m pytest -n auto --dist worksteal -m integration

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: test lint docs

# The examples of the pages are run and compared before the site is built.
docs: $(DOCS)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "docs and not integration" tests/test_readme.py
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs build/docs
	@echo "open build/docs/index.html"

coverage: $(OTHERS)
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term --cov-report=html:build/coverage

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .coverage .coverage.*
