"""Every command and figure of the README and of several pages is run as printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.claims.gates import judge_gates
from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets.case import cross
from pytest_tablebench.results import Record, ScoreRow, ScoreTable, read_records
from pytest_tablebench.results.record import row_values
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.serializers import SERIALIZERS
from pytest_tablebench.tables.perturbations import GRID
from tests.support import upstream
from tests.support.matrix import FULL, reduced
from tests.support.ollama_server import OllamaServer
from tests.support.openai_server import OpenAIServer, text
from tests.support.printed import summary_lines
from tests.support.upstream_server import UpstreamServer, tarball
from tests.support.wheels import WHEEL

ROOT = Path(__file__).resolve().parent.parent
LEAN = os.environ["PYTEST_ADDOPTS"]
SOURCES = ("README.md", *(f"docs/{name}.md" for name in ("running", "data", "figures", "gates")))
EXTENDING = ROOT.joinpath("docs/extending.md").read_text(encoding="utf-8")
README, *MORE = (ROOT.joinpath(name).read_text(encoding="utf-8") for name in SOURCES)
FIGURES = MORE[2]
COMMANDS = [
    line.removeprefix("$ ")
    for block in re.findall(r"```console\n(.*?)```", "".join([README, *MORE, EXTENDING]), re.DOTALL)
    for line in block.splitlines()
]
PYTHON_BLOCKS = re.findall(r"```python\n(.*?)```", EXTENDING, re.DOTALL)[:2]
SMALL = LEAN + " --bench-limit=1 --bench-serializer=html --bench-perturbation=none"
ONE = f"{SMALL} --bench-dataset=starter"


SKIPPED = (".*", "__pycache__", "tablebench-results", "dist", "build")
NOT_RUN = () if FULL else ("tests", "benchmarks", "docs", "pytest_tablebench")


def copy(folder: Path, target: Path, *skipped: str) -> Path:
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns(*SKIPPED, *skipped))
    return target


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of the project, so that runs leave no files in it."""
    return copy(ROOT, tmp_path / "checkout", *NOT_RUN)


def run(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    bin_folder = Path(sys.executable).parent
    keep = {
        key: value
        for key, value in os.environ.items()
        if key == "PYTEST_ADDOPTS" or not key.startswith(("PYTEST_", "MAKEFLAGS", "MAKELEVEL"))
    }
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=keep | {"PATH": path, "XDG_CACHE_HOME": str(folder / "cache")} | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def records(folder: Path) -> list[Record]:
    (found,) = (folder / "tablebench-results").iterdir()
    return list(read_records(found))


def test_every_command_of_the_pages_has_a_test() -> None:
    tested = {*MAKE, *PLAIN, PULL, *API, OLLAMA, *SERVER, INSTALLED, OWN, *REPORT}
    tested |= {BEFOREHAND, GATED, *AGAIN, *OWN_TABLES, NEW, WHEEL}
    assert set(COMMANDS) == tested
    assert len(COMMANDS) == len(set(COMMANDS))


MAKE = {
    "make bench": ["--bench-limit=1"],
    "make test": ["--collect-only", "-qq", "--ignore-glob=tests/[a-s]*"],
}


@pytest.mark.parametrize("command", MAKE)
def test_a_make_command_runs(command: str, checkout: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    if command == "make test" and not FULL:
        # This command probably started these tests.
        commands = run("make lint test -n", checkout, VENV=sys.prefix, WORKERS="1").stdout
        for tool in ("ruff check .", "ruff format --check .", "mypy", "pytest tests -n 1"):
            assert f"{sys.prefix}/bin/python -m {tool}" in commands
        return
    # Use the environment of these tests instead of the one that make would install.
    stamp = checkout / "installed"
    stamp.touch()
    environment = {"VENV": sys.prefix, "STAMP": str(stamp), "RUNS": str(stamp)}
    environment["WORKERS"] = "1"
    done = run(command, checkout, ARGS=" ".join(MAKE[command]), **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    if command == "make bench":
        assert len(records(checkout)) == 3 * 35  # three datasets
        assert "tablebench: tablebench/lexical" in done.stdout


PLAIN = {
    # command: exit codes, cases
    "pytest --bench-limit=20 --bench-serializer=html,csv --bench-perturbation=none,transpose": (
        80 + 78 + 76  # questions about positions in the last two do not apply to a transposed table
    ),
    'pytest --bench-dataset=starter -k "argmax and markdown" -x': None,
    'pytest "suites/test_starter.py::test_starter[fin-01-lookup-1-html-none]"': 1,
    "pytest --bench-sample=20 --bench-dataset=starter --bench-serializer=html": 100,
    "pytest -m starter --collect-only -q": 0,
    "tablebench list": 0,
}


@pytest.mark.parametrize("command", PLAIN)
def test_a_command_with_a_built_in_model_runs(command: str, checkout: Path) -> None:
    few = {} if "=20" in command else {"PYTEST_ADDOPTS": f"{LEAN} --bench-limit=40"}
    done = run(command, checkout, **few)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    cases = PLAIN[command]
    if cases == 0:
        assert not (checkout / "tablebench-results").exists()
        assert "starter" in done.stdout
    elif cases is None:
        assert 1 <= len(records(checkout)) <= 35  # 7 questions of the kind, 5 arrangements
    else:
        assert len(records(checkout)) == cases


PULL = "tablebench pull wikitq tabfact"


def test_a_pull_command_runs(checkout: Path) -> None:
    wikitq = upstream.wikitq(checkout / "upstream/wikitq")
    shutil.copy(wikitq / "data/random-split-1-train.tsv", wikitq / "data/random-split-1-dev.tsv")
    tabfact = upstream.tabfact(checkout / "upstream/tabfact")
    (tabfact / "tokenized_data/val_examples.json").write_text("{}")
    with UpstreamServer() as server:
        server.archive("ppasupat/WikiTableQuestions", "master", tarball(upstream.read(wikitq)))
        server.archive("wenhuchen/Table-Fact-Checking", "master", tarball(upstream.read(tabfact)))
        done = run(PULL, checkout, TABLEBENCH_GITHUB_ENDPOINT=server.url)
    assert done.returncode == 0, done.stderr
    listed = run("tablebench list", checkout).stdout.splitlines()
    for name in ("wikitq", "tabfact"):
        assert next(line for line in listed if line.startswith(f"  {name} ")).endswith("installed")


API = ["pytest --model gpt-4o -n 16"]
SERVER = [
    "pytest --model hosted_vllm/Qwen/Qwen2.5-7B-Instruct --bench-api-base=http://localhost:8000/v1"
]


@pytest.mark.parametrize("command", reduced([*API, *SERVER], *API))
def test_a_command_with_an_openai_server_runs(command: str, checkout: Path) -> None:
    with OpenAIServer() as server:
        server.always(text("1969"))
        done = run(
            # One worker instead of sixteen is enough for one case.
            command.replace("http://localhost:8000/v1", server.url)
            if FULL
            else command.replace("http://localhost:8000/v1", server.url).replace("-n 16", "-n 1"),
            checkout,
            PYTEST_ADDOPTS=ONE,
            OPENAI_API_KEY="sk-none",
            OPENAI_BASE_URL=server.url,
            OPENAI_API_BASE=server.url,
        )
        assert server.calls == 1, done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = records(checkout)
    assert (record.outcome, record.raw) == ("right", "1969")


OLLAMA = "pytest --model ollama/llama3.2"


def test_a_command_with_ollama_runs(checkout: Path) -> None:
    with OllamaServer(limit=131_072) as server:
        done = run(OLLAMA, checkout, PYTEST_ADDOPTS=ONE, OLLAMA_API_BASE=server.url)
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = records(checkout)
    assert (record.outcome, record.raw) == ("right", "1969")


INSTALLED = "pytest --model tablebench/lexical"


def test_a_command_with_the_installed_suites_runs(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    package = copy(ROOT / "pytest_tablebench", tmp_path / "site/pytest_tablebench")
    copy(ROOT / "suites", package / "suites")
    done = run(INSTALLED, elsewhere, PYTEST_ADDOPTS=ONE, PYTHONPATH=str(package.parent))
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(records(elsewhere)) == 1


OWN = "pytest test_prices.py --model=tablebench/lexical"


def test_the_example_suite_runs(tmp_path: Path) -> None:
    conftest, suite = PYTHON_BLOCKS
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "test_prices.py").write_text(suite, encoding="utf-8")
    done = run(OWN, tmp_path)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    assert len(records(tmp_path)) == 2 * 35
    assert "prices" in done.stdout


OWN_TABLES = [
    "tablebench check shop",
    "tablebench generate rules shop/prices.xlsx --per-table=60 -o asked",
    "pytest --bench-data=asked --bench-dataset=asked --model tablebench/lexical "
    '--bench-gate="asked.pass_rate >= 0.8"',
]


def test_the_example_folder_of_tables_ends_in_a_verdict(checkout: Path) -> None:
    import openpyxl

    (questions,) = re.findall(r"```csv\n(.*?)```", README, re.DOTALL)
    shop = checkout / "shop"
    shop.mkdir()
    (shop / "questions.csv").write_text(questions, encoding="utf-8")
    book = openpyxl.Workbook()
    rows: list[list[Any]] = [
        ["product", "price", "in stock"],
        ["tea", 2.40, "yes"],
        ["coffee", 3.10, "no"],
        ["cocoa", 2.95, "yes"],
    ]
    for row in rows:
        book.worksheets[0].append(row)
    book.save(shop / "prices.xlsx")
    checked, made, judged = (
        run(command, checkout, PYTEST_ADDOPTS=f"{LEAN} --bench-serializer=html,csv")
        for command in OWN_TABLES
    )
    assert checked.stdout == "shop: 3 questions (1 number, 1 text, 1 list), no problem\n"
    assert checked.returncode == 0, checked.stderr
    assert "asked: 60 questions from 1 table" in made.stdout
    assert judged.returncode == 10, judged.stdout + judged.stderr
    assert "The gate fails." in judged.stdout
    assert {record.example_id for record in records(checkout)} == {
        json.loads(line)["id"]
        for line in (checkout / "asked/questions.jsonl").read_text("utf-8").splitlines()
    }
    # A model that is right in all questions holds.
    right = [
        replace(row, score=1.0, passed=True, outcome="right", flags=()) for row in records(checkout)
    ]
    [result] = judge_gates(right, ["asked.pass_rate >= 0.8"])
    assert result.state == "holds", result.reason


NEW = "tablebench new mine"


def test_the_folder_written_by_new_is_checked_and_run(checkout: Path) -> None:
    done = run(NEW, checkout)
    assert done.returncode == 0, done.stderr
    options = f"{SMALL} --bench-dataset=mine"
    done = run("pytest --bench-data=mine", checkout, PYTEST_ADDOPTS=options)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    assert len(records(checkout)) == 1


BEFOREHAND = "pytest --model gpt-4o-mini --bench-limit=20 --bench-plan"


def test_the_printed_plan_equals_that_of_the_run(checkout: Path) -> None:
    with OpenAIServer() as server:
        done = run(BEFOREHAND, checkout, OPENAI_API_KEY="sk-none", OPENAI_API_BASE=server.url)
        assert server.calls == 0
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"cases +2,037\n", done.stdout)
    assert re.search(r"price +at most 0\.\d\d USD\n", done.stdout)
    assert not (checkout / "tablebench-results").exists()


GATED = (
    'pytest --model tablebench/lexical --bench-gate="starter.performance >= 0.15" '
    '--bench-gate="all.no_answer <= 0.01"'
)


FEW = (
    LEAN
    + " -q --bench-dataset=starter --bench-serializer=csv --bench-perturbation=none,shuffle_rows"
)


def test_the_printed_gates_hold(checkout: Path) -> None:
    # Both gates hold for the best format of the printed table, despite wrong answers.
    done = run(GATED, checkout, PYTEST_ADDOPTS=FEW)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All 2 gates hold." in done.stdout
    (folder,) = (checkout / "tablebench-results").iterdir()
    assert {"report.html", "summary.md"} <= {path.name for path in folder.iterdir()}


REPORT = ["tablebench report tablebench-results/*"]
AGAIN = [
    'tablebench rejudge tablebench-results/RUN --bench-gate="starter.pass_rate >= 0.35"',
    "tablebench compare tablebench-results/BEFORE tablebench-results/AFTER",
]


def test_a_run_is_reported_judged_and_compared(checkout: Path) -> None:
    options = f"{SMALL} --bench-limit=2 --bench-results=tablebench-results/RUN"
    first = run("pytest suites/test_starter.py", checkout, PYTEST_ADDOPTS=options)
    (row,) = (line for line in first.stdout.splitlines() if line.startswith("starter   "))
    (reported,) = (run(command, checkout) for command in REPORT)
    assert reported.returncode == 0, reported.stderr
    assert row in reported.stdout
    results = checkout / "tablebench-results"
    for name in ("BEFORE", "AFTER"):
        shutil.copytree(results / "RUN", results / name)
    judged, compared = (run(command, checkout) for command in AGAIN)
    assert judged.returncode == 11, judged.stderr  # two questions are too few for a decision
    assert "The gate is undecided." in judged.stdout
    assert compared.returncode == 0, compared.stderr
    assert "starter" in compared.stdout


def plain(text: str) -> str:
    """Return the text without column widths, which depend on the longest name."""
    return re.sub(" +", " ", text)


@pytest.mark.parametrize("name", ["starter", *(["starter_skills", "starter_zh"] if FULL else [])])
def test_the_printed_table_equals_that_of_the_run(name: str) -> None:
    """Run the whole embedded dataset without pytest."""
    runner = Runner(Settings(), builtin_registry())
    dataset, source = runner.registry.datasets[name], runner.source(name)
    ids = source.example_ids(dataset.limit)
    cases, _ = cross(name, ids, list(SERIALIZERS), GRID, ["tablebench/lexical"])
    cells, left_out = [], 0
    for case in cases:
        place = case.example_id, case.serializer, case.perturbation
        if source.does_not_apply(*place) is not None:
            left_out += 1
            continue
        run_ = runner.start(case)
        run_.ask()
        record = run_.record({}, None)
        cells.append(ScoreRow(*row_values(record)))
    parts = getattr(dataset, "parts", None)
    own = {"parts": None if parts is None else list(parts)}
    shown = {"by_dataset": {name: own | {"does_not_apply": left_out and {"": left_out}}}}
    table = ScoreTable.from_records(cells)
    facts = RunFacts.from_json(shown)
    run = Run(Path("absent"), facts, table)
    run.labels = ()
    for line in summary_lines(summary_of(run), facts):
        assert plain(line.strip()) in plain(FIGURES)
