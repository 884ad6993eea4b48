# Needs python3 (3.11 or newer) and make. Everything is installed into .venv, once; `make help` lists the targets.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check
ARGS   ?=

# Two tests read all of MNIST and of Fashion-MNIST where this says, and are skipped, saying so, where it is unset.
ifneq ($(wildcard ../shared/data),)
export UNBRAID_DATA ?= $(CURDIR)/../shared/data
endif

# Packages are compiled as they are imported, a tenth of their modules: all of them would take longer than to install them.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: reproduce-laptop help quickstart test test-slow test-browser test-gpu lint format format-check types layers docs docs-serve build release-check check clean

help:  ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

quickstart: $(VENV)/installed-run  ## Train, score and write runs/quickstart/report.html (no GPU, no download)
	$(VENV)/bin/unbraid quickstart $(ARGS)

# The tests are many small sums: a process a core, each with one thread, takes half the time. Threads that wait sleep instead of spinning.
# The tests of a file share what they set up, so one process has them all.
test test-slow test-browser: export OMP_NUM_THREADS ?= 1
test test-slow test-browser: export OMP_WAIT_POLICY ?= PASSIVE
test: $(VENV)/installed-dev  ## Run the tests but the slow ones; ARGS="-k mig -x" reaches pytest
	$(PY) -m pytest --numprocesses auto --dist loadfile -m "not slow" $(ARGS)

# Only the files that have such tests: to import all of them takes longer than many a test.
test-slow: $(VENV)/installed-dev  ## Run the tests that are rare and long
	$(PY) -m pytest --numprocesses auto --dist loadfile -m "slow and not browser" $(or $(ARGS),$$(grep -rl --include 'test_*.py' slow tests))

test-browser: $(VENV)/installed-dev  ## Run the tests that drive Chromium; they are skipped where there is none
	$(PY) -m pytest -m browser $(or $(ARGS),$$(grep -rl --include 'test_*.py' mark.browser tests))

test-gpu: export OMP_NUM_THREADS ?= 1
test-gpu:  ## Run the tests of what a GPU computes, with the packages of PYTHON; installs nothing
	PYTHONPATH=$(CURDIR)/src:$(CURDIR) $(PYTHON) -m tests.gpu $(ARGS)

lint: $(VENV)/installed-dev  ## Look for mistakes (ruff)
	$(PY) -m ruff check .

format: $(VENV)/installed-dev  ## Format the code, fix what ruff can, and renew tables on pages
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .
	$(PY) -m docs.hooks.included

format-check: $(VENV)/installed-dev  ## Fail if a file is not formatted
	$(PY) -m ruff format --check .

types: $(VENV)/installed-dev  ## Check the types (mypy)
	$(PY) -m mypy

layers: $(VENV)/installed-dev  ## Check who imports whom (import-linter)
	$(VENV)/bin/lint-imports

# Tutorials that the tests have not run yet are run first, as the tests run them.
docs: export OMP_NUM_THREADS ?= 1
docs: export OMP_WAIT_POLICY ?= PASSIVE
docs: $(VENV)/installed-dev  ## Build the site into site/; a broken link fails
	$(PY) -m examples.percent_scripts
	$(PY) -m reproductions page
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

docs-serve: $(VENV)/installed-dev  ## Show the site at http://localhost:8000 while you write
	$(PY) -m reproductions page
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs serve

reproduce-laptop: $(VENV)/installed-dev  ## Run every item of five papers that a laptop can; resumes, and prints the verdicts
	-$(PY) -m reproductions run --scale laptop
	$(PY) -m reproductions list --evidence runs/reproductions/evidence

build: $(VENV)/installed-dev  ## Make the wheel and the source archive in dist/
	$(PY) -c 'from unbraid.cli.flags import known_fields; known_fields("train")'
	$(PY) -m build

release-check:  ## Check what is released, in environments of its own: a quarter of an hour, and the network
	PYTHON=$(PYTHON) .ci/release-check > release_check.part && mv release_check.part benchmarks/results/release_check.md || { cat release_check.part; exit 1; }

check: test test-slow test-browser lint format-check types layers docs  ## Everything that CI checks

clean:  ## Remove what can be made again; runs/ stays
	rm -rf $(VENV) site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is written last, so an interrupted install is not mistaken for a finished one. What it leaves can look whole to pip (the
# metadata comes before the scripts), so an environment in which an install began and did not end is made anew.
$(VENV)/installed-%: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("unbraid needs Python 3.11 or newer; $(PYTHON) is " + sys.version.split()[0] + ". Name another: make PYTHON=python3.12 ...")'
	@if [ ! -e $(VENV)/made ] || [ -e $(VENV)/unfinished ]; then \
	    echo "Making $(VENV) ..." && $(PYTHON) -m venv --clear $(VENV) && touch $(VENV)/made; fi
	@touch $(VENV)/unfinished
	@echo "Installing unbraid and what it needs into $(VENV), once: $(if $(filter dev,$*),a few minutes,half a minute where the network is fast) ..."
	@$(PIP) install --quiet --no-compile --constraint constraints.txt --editable '.$(if $(filter dev,$*),[dev])'
	@rm $(VENV)/unfinished
	@touch $(VENV)/installed-run $@
