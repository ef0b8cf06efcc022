"""Retirement in a real run, and `tablebench models` over its folder, store and configuration."""

from __future__ import annotations

import json
from datetime import date
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.models import Reply
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.store import Store
from tests.support.openai_server import OpenAIServer
from tests.support.runs import Run, Script, run_inside
from tests.support.stores import ask

RETIRED = "groq/llama-guard-3-8b"
"""A model that litellm's table has been keeping since its provider retired it."""


def day_of(model: str) -> str:
    return str(load().model_cost[model]["deprecation_date"])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("retired")
    gate = "--bench-gate=all.no_answer <= 1"
    with OpenAIServer(Script(2)) as server:  # without a key of the provider, so nothing is asked
        run = run_inside(folder, server, gate, count=2, model=RETIRED, page=True)
    with Store.open(folder / "answers") as store:
        for text in ("one", "two"):
            store.put(ask(text, model=RETIRED), Reply(text, "stop"))
    return run


def test_a_run_reports_that_its_model_is_retired(run: Run) -> None:
    day = day_of(RETIRED)
    assert date.fromisoformat(day) < date.today()
    line = f"{RETIRED} has been retired since {day}"
    assert run.output.splitlines().count(f"tablebench: {line}") == 1
    assert run.facts["deprecation_date"] == day
    assert "judge_deprecation_date" not in run.facts
    folder = run.folder / "run"
    assert line in unescape((folder / "summary.md").read_text("utf-8"))
    assert line in (folder / "report.html").read_text("utf-8")
    assert run.exit_code == 0


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["models", *arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture
def project(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose configuration names a known, an unknown and a built-in model."""
    lines = ["[pytest]", "bench_model =", "  gpt-4o", "  nosuch/mo\x1bdel", "  tablebench/lexical"]
    (tmp_path / "pytest.ini").write_text("\n".join([*lines, f"bench_judge = {RETIRED}"]), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_models_of_store_runs_and_configuration(
    run: Run, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(run.folder / "answers")
    printed = command(capsys, str(run.folder), "--bench-store", store, "--json=-")
    models = {model["model"]: model for model in json.loads(printed)["models"]}
    assert list(models) == sorted(["gpt-4o", "nosuch/mo\x1bdel", "tablebench/lexical", RETIRED])
    retired = models[RETIRED]
    entry = load().model_cost[RETIRED]
    assert retired["deprecation_date"] == day_of(RETIRED)
    assert (retired["store_answers"], retired["runs"]) == (2, 1)
    assert retired["configuration"] == ["pytest.ini: bench_judge"]
    assert retired["context"] == entry["max_input_tokens"]
    prices = retired["usd_per_million_tokens"]
    assert prices["in"] == pytest.approx(entry["input_cost_per_token"] * 1e6)
    assert prices["out"] == pytest.approx(entry["output_cost_per_token"] * 1e6)
    assert retired["last_used"] > run.facts["end"]  # the answers are newer
    assert models["gpt-4o"]["abilities"]["pictures"] is True
    assert models["gpt-4o"]["last_used"] is None
    unknown = models["nosuch/mo\x1bdel"]
    assert (unknown["context"], unknown["deprecation_date"]) == (None, None)
    assert unknown["note"] == "litellm's table does not have it"


def test_the_table_is_printable_and_ends_with_notes(
    run: Run, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "tablebench-results" / "torn").mkdir(parents=True)
    (project / "tablebench-results" / "torn" / "records.jsonl").touch()
    printed = command(capsys, "--bench-store", "none")
    assert "\x1b" not in printed
    head, *lines = printed.splitlines()
    assert head.split() == [
        *("model", "retires", "context", "$/M", "in", "$/M", "out", "can", "last", "used", "from")
    ]
    [row] = [line for line in lines if line.startswith("nosuch/mo\\x1bdel")]
    assert row.split()[1:7] == ["-"] * 6
    assert f"{RETIRED} has been retired since {day_of(RETIRED)}" in lines
    assert "note: nosuch/mo\\x1bdel: litellm's table does not have it" in lines
    assert "note: tablebench-results/torn: no run.json, so it is not shown" in lines


def test_facts_of_the_store_come_first(
    run: Run, project: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The store has another date than litellm's table, for the same release of litellm."""
    with Store.open(tmp_path / "kept") as store, Store.open(run.folder / "answers") as answers:
        entry: dict[str, Any] = answers.resolutions()[0]
        store.put_resolution(
            {**entry, "facts": {**entry["facts"], "deprecation_date": "2031-05-06"}}
        )
    printed = command(capsys, "--bench-store", str(tmp_path / "kept"), "--json=-")
    [retired] = [m for m in json.loads(printed)["models"] if m["model"] == RETIRED]
    assert retired["deprecation_date"] == "2031-05-06"


def test_a_run_file_with_other_types_is_no_error(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = project / "runs" / "a"
    run.mkdir(parents=True)
    (run / "run.json").write_text('{"schema": 2, "model": ["x"], "judge": {}, "end": 3}', "utf-8")
    printed = command(capsys, "runs", "--bench-store", "none", "--json=-")
    assert [model["runs"] for model in json.loads(printed)["models"]] == [0] * 4


def test_paths_that_cannot_be_used_are_notes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pytest.ini").unlink()
    printed = command(capsys, "nowhere", "--bench-store", "no-store")
    assert printed.splitlines() == [
        f"note: --bench-store: {project / 'no-store'} does not exist",
        "note: nowhere: does not exist",
        "no model is in the store, in run folders or in the configuration",
    ]


def test_doctor_names_the_models_of_the_configuration(
    project: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folders = ["--bench-data", str(tmp_path / "data"), "--bench-store", str(tmp_path / "answers")]
    assert main(["doctor", *folders]) == 0
    [line] = [
        line for line in capsys.readouterr().out.splitlines() if line.startswith("retirement")
    ]
    assert line.split()[1] == "-"
    assert f"{RETIRED} has been retired since {day_of(RETIRED)}" in line
