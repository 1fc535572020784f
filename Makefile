# Two commands for a newcomer: `make reproduce` and `make test`. Everything else serves those who carry on the work.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help reproduce test test-all lint format types bench clean
help:
	@echo "make reproduce   set up and run the main job: digits, and AR and USPS where they are found"
	@echo "make test        set up and run the tests"
	@echo "make test-all    the tests that need torch or a browser as well"
	@echo "make lint        ruff, mypy and the import contract;   make format   rewrite with ruff"
	@echo "make bench       every benchmark;  make clean   forget the environment"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ancr needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

# One stamp per install level: an unchanged pyproject.toml makes the second call quick.
$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(PIP) install -e .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[test]'
	@touch $@ $(VENV)/.core $(VENV)/.plot

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[test,bench]'
	@touch $@ $(VENV)/.core $(VENV)/.test

$(VENV)/.plot: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[plot,data]'
	@touch $@ $(VENV)/.core

reproduce: $(VENV)/.plot
	$(BIN)/ancr reproduce

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not all"

# Where pip offers a CPU build of torch that is the one to test with: the newest brings several GB of CUDA packages.
# pip then picks the torchvision made for it. Without torch its tests skip and say so.
$(VENV)/.all: pyproject.toml $(VENV)/.test
	@cpu=$$($(BIN)/python -m pip index versions torch 2>/dev/null | grep -o '[0-9][0-9.]*+cpu' | head -n 1); \
	$(PIP) install -e '.[test,browser]' || echo "no playwright: the report will not be opened in a browser" >&2; \
	$(PIP) install $${cpu:+torch==$$cpu} -e '.[test,features]' || echo "no torch: its tests will be skipped" >&2
	@touch $@

test-all: $(VENV)/.all
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

types: $(VENV)/.test
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV)
