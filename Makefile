# The commands of a checkout. Each works in a fresh clone: the environment is made on first use and
# again when pyproject.toml changes.

PYTHON ?= python3
VENV ?= .venv
# pytest-xdist workers; 0 runs everything in one process, which is what a debugger wants.
WORKERS ?= auto
# More arguments for pytest: make test ARGS="-k relay -x"
ARGS ?=

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
FAST := $(wildcard tests/unit tests/architecture tests/conformance)

.DEFAULT_GOAL := check
.PHONY: check test lint fmt install clean

## Format, lint, types, import directions and the fast tests: under three minutes.
check: lint
	$(BIN)/python -m pytest $(FAST) -n $(WORKERS) $(ARGS)

## Everything: the lint of `check`, then every test, each once. A finding of the linter does not keep
## the tests from running; it fails the whole. A file stays on one worker, so that the services it
## needs are started once.
test: install
	@status=0; \
	$(MAKE) --no-print-directory lint || status=$$?; \
	echo $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS); \
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS) || status=$$?; \
	exit $$status

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports

fmt: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

install: $(STAMP)

# uv when it is there and works, else the interpreter's own venv and pip (25.1 brought --group).
$(STAMP): pyproject.toml
	@rm -f $@
	@if command -v uv >/dev/null 2>&1 && $(MAKE) --no-print-directory .install-uv; then :; \
	else $(MAKE) --no-print-directory .install-pip; fi
	@touch $@

.PHONY: .install-uv .install-pip
.install-uv:
	test -x $(BIN)/python || uv venv --quiet --python $(PYTHON) $(VENV)
	uv pip install --quiet --python $(BIN)/python --editable . --group dev

.install-pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Turnline needs Python 3.11 or newer; name one: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
