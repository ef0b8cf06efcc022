# Two commands for a fresh machine with Python 3.11 or newer:
#   make bench    set everything up and measure a model (MODEL=..., DATA=..., ARGS=...)
#   make test     set everything up and run the tests

PYTHON ?= python3
MODEL ?= tablebench/lexical
DATA ?=
ARGS ?=
WORKERS ?= auto

VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
STAMP ?= $(VENV)/.installed

.PHONY: bench test check clean

# Wrong answers are the result of a run, not an error of it: pytest's exit code 1 is fine here.
bench: $(STAMP)
	$(BIN)/python -m pytest --model $(MODEL) $(if $(DATA),--bench-data=$(DATA)) $(ARGS) || test $$? -eq 1

test: $(STAMP) check
	$(BIN)/python -m pytest tests -n $(WORKERS) $(ARGS)

check: $(STAMP)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit('Python 3.11 or newer is needed; set PYTHON=...' if sys.version_info < (3, 11) else 0)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[test]"
	$(BIN)/python -c "open('$(STAMP)', 'w').close()"

clean:
	$(PYTHON) -c "import shutil; [shutil.rmtree(name, ignore_errors=True) for name in ('$(VENV)', 'build', 'dist', '.mypy_cache', '.ruff_cache', '.pytest_cache', '.hypothesis')]"
