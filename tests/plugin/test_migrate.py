"""`tablebench migrate`: runs of a project with two models, and its bad input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.commands._project_runs import Project
from tests.support.openai_server import OpenAIServer
from tests.support.runs import SUITE, Script, examples, right
from tests.support.toy_bench import Bench

INI = """[pytest]
addopts = -q -p no:cacheprovider --bench-no-page --bench-show=0 --bench-store=answers
bench_serializer = csv
bench_perturbation = none
"""
GATES = """bench_gate =
    starter.performance >= 0.3
    starter.performance >= baseline - 0.9
"""


ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in the current folder."""
    (tmp_path / "pytest.ini").write_text(INI, encoding="utf-8")
    (tmp_path / "test_suite.py").write_text(SUITE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COLUMNS", "1000")
    return tmp_path


def add_settings(folder: Path, lines: str) -> None:
    with (folder / "pytest.ini").open("a", encoding="utf-8") as file:
        file.write(lines)


def script(folder: Path, name: str, is_right: Callable[[int, str], bool]) -> str:
    """Write a script that answers the examples of which `is_right` is true; return the model."""
    lines = [
        {"match": example.question, "text": right(example) if ok else "no idea"}
        for number, example in enumerate(examples(258))
        for ok in [is_right(number, str(example.tags["kind"]))]
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in [*lines, {"default": "?"}])
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return f"tablebench/scripted:{name}.jsonl"


def test_a_migration_names_the_candidate_that_passes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One candidate is better on average and worse on one slice, the other is equal."""
    add_settings(folder, GATES)
    old = script(folder, "old", lambda number, _: number % 3 != 0)
    mixed = script(folder, "mixed", lambda _, kind: kind != "lookup")
    equal = script(folder, "equal", lambda number, _: number % 3 != 0)
    # Equal answers over 43 tables show a loss of at most 1 - .025^(1/43) = .082.
    words = "--margin=0.1", "--out=out", "--comment=comment.md"
    assert main(["migrate", old, mixed, equal, *words]) == 0
    output = capsys.readouterr().out
    assert "Only tablebench/scripted:equal.jsonl passes." in output
    first, last = json.loads((folder / "out" / "migration.json").read_text("utf-8"))
    assert first["verdict"] == "no", output
    [reason] = first["reasons"]
    assert re.match(
        r"starter is better on average \(\+0\.267\), but starter, kind=lookup is worse", reason
    )
    assert reason in output
    assert last["verdict"] == "yes"
    assert [gate["result"]["state"] for gate in last["gates"]] == ["holds", "holds"]
    assert last["gates"][1]["result"]["identical"]  # its baseline is the old model's run
    page = (folder / "out" / "migration.html").read_text("utf-8")
    assert "May the new model replace" in page
    assert "❌ **No: " in (folder / "comment.md").read_text("utf-8")
    assert not (folder / "out" / "migration.md").exists()


def test_it_plans_first_and_pays_only_for_missing_answers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = ("--", "-p", "tests.support.plain_model", "--bench-shots=0")
    with OpenAIServer(Script(4)) as server:
        add_settings(folder, f"bench_api_base = {server.url}\n")
        models = "plain/old", "plain/new"
        # Four examples with equal answers decide nothing.
        assert main(["migrate", *models, "--limit=4", "--yes", "--out=out", *plugin]) == 11
        assert server.calls == 8
        output = capsys.readouterr().out
        assert re.search(r"about [\d,]+ more examples would decide", output), output
        before = sorted(folder.rglob("*.json*"))
        assert main(["migrate", "plain/old", "plain/third", "--limit=4", *plugin]) == 0
        assert server.calls == 8
    output = capsys.readouterr().out
    assert "nothing was asked or written; add --yes to ask" in output
    assert sorted(folder.rglob("*.json*")) == before
    rows = [line.split() for line in output.splitlines() if line.startswith("  plain/")]
    assert [row[:3] for row in rows] == [["plain/old", "0", "4"], ["plain/third", "4", "0"]]


# Bad input


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["migrate", *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a", "a"), "OLD and NEW are the same model, a"),
        (("a", "b", "c", "b"), "b is named twice"),
        (("a", " "), "a model's name is empty"),
        (("a", "b", "--margin=1.5"), "--margin takes a share from 0 to below 1"),
        (("a", "b", "--margin=nan"), "--margin takes a share"),
        (("a", "b", "--max-cost=-1"), "--max-cost takes US dollars from 0"),
        (("a", "b", "--", "--model=c"), "`migrate` sets --model itself"),
    ],
)
def test_input_that_cannot_be_meant_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert message in refused(capsys, *words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-k", "nothing_has_this_name"), "no case was selected"),
        (("--bench-dataset=startr",), "unknown dataset 'startr'"),
    ],
)
def test_a_plan_that_pytest_does_not_make_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    models = [script(folder, name, lambda *_: True) for name in ("old", "new")]
    assert message in refused(capsys, *models, "--", *words)


def test_the_json_plan_has_what_a_migration_needs(bench: Bench) -> None:
    result = bench.run(
        "--model=echo/any", "--bench-store=answers", "--bench-plan-json=to/plan.json"
    )
    assert bench.calls("ask") == []
    assert "this was the plan only" in result.stdout.str()
    plan = json.loads((bench.path / "to" / "plan.json").read_text("utf-8"))
    [model] = plan["models"]
    assert (plan["cases"], model["model"], model["calls"], model["hits"]) == (3, "echo/any", 3, 0)


def test_missing_answers_without_a_key_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    plan = {
        "calls": 4, "hits": 0, "provider": "openai", "priced_by_reply": False, "has_server": False,
        "judges": False, "cost_usd": 0.02, "seconds": 2.0,
    }  # fmt: skip
    monkeypatch.setattr(Project, "plan", lambda *_: {"gpt-4o": plan})
    line = "gpt-4o: 4 answers missing from the store, and no key to ask for them: "
    words = "tablebench/lexical", "gpt-4o"
    assert refused(capsys, *words, "--yes") == f"tablebench: {line}set OPENAI_API_KEY"
    assert main(["migrate", *words]) == 0  # a plan needs no key
    assert line in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_pytest_does_not_finish_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "conftest.py").write_text(
        "import pytest\ndef pytest_runtest_setup():\n    pytest.exit('broken', returncode=3)\n",
        encoding="utf-8",
    )
    models = [script(folder, name, lambda *_: True) for name in ("old", "new")]
    line = refused(capsys, *models, "--limit=1", "--out=out")
    assert "pytest ended with exit code 3 for tablebench/scripted:old.jsonl" in line
    assert not (folder / "out" / "migration.json").exists()
