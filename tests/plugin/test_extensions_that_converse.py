"""Installed packages with a strategy of two rounds and a judged metric."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.extensions import EXTENSIONS, install, run_extended

SUITE = """
import pytest
from pytest_tablebench import assert_score

@pytest.mark.tablebench("crews")
def test_crews(case, answer):
    assert_score(case, answer)
"""

CONFTEST = """
from pytest_tablebench import Table
from pytest_tablebench.datasets import TableQuestions, table_question

BOATS = Table(["Boat", "Crew"], [["Wren", "3"], ["Tern", "5"]])

def pytest_tablebench_register_dataset(register):
    crew = [
        table_question("tern", BOATS, "How many sail on Tern?", ["5"]),
        table_question("wren", BOATS, "How many sail on Wren?", ["3"]),
    ]
    register(TableQuestions("crews", crew, metric="same_meaning"))
"""

ONE = ("--bench-serializer=csv", "--bench-perturbation=none")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both packages, installed by pip without a network."""
    return install(tmp_path_factory.mktemp("installed") / "packages", ("metric", "strategy"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "test_crews.py").write_text(SUITE, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    return tmp_path


def script(project: Path, name: str, **replies: str) -> str:
    """Return a scripted model with a reply for each text in a prompt; `_` in keys is a space."""
    lines = [{"match": key.replace("_", " "), "text": text} for key, text in replies.items()]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (project / name).write_text(text, encoding="utf-8")
    return f"tablebench/scripted:{name}"


@pytest.mark.parametrize("name", ["metric", "strategy"])
def test_an_example_package_is_one_short_module_and_its_metadata(name: str) -> None:
    files = sorted(path.name for path in (EXTENSIONS / name).iterdir() if path.is_file())
    assert files == ["pyproject.toml", f"tablebench_example_{name}.py"]
    module = (EXTENSIONS / name / files[1]).read_text(encoding="utf-8")
    assert len(module.splitlines()) < 100


def test_a_judge_is_called_only_if_the_words_differ(installed: Path, project: Path) -> None:
    model = script(project, "model.jsonl", on_Tern="five", on_Wren="3")
    judge = script(project, "judge.jsonl", Answer="Yes, it is.")
    options = (f"--model={model}", *ONE)
    run = run_extended(installed, project, *options, f"--bench-judge={judge}")
    assert run.returncode == 0, run.output
    tern, wren = run.records
    assert (tern["raw"], tern["score"], tern["part"]) == ("five", 1.0, "meaning")
    assert tern["parts"] == {"words": 0.0, "meaning": 1.0}
    assert [step["model"] for step in tern["steps"]] == [None, judge]
    assert (wren["raw"], wren["parts"]) == ("3", {"words": 1.0, "meaning": 1.0})
    without = run_extended(installed, project, *options, "--bench-results=without")
    assert without.returncode == 1
    lines = (project / "without" / "records.jsonl").read_text(encoding="utf-8").splitlines()
    reasons = {record["raw"]: record["reason"] for record in map(json.loads, lines)}
    assert reasons == {"five": "not_judged", "3": None}


def test_the_second_round_of_a_strategy_uses_the_first_reply(
    installed: Path, project: Path
) -> None:
    replies = {"Your_notes:_the_second_row": "5", "Do_not_answer_yet": "the second row"}
    model = script(project, "model.jsonl", **replies)
    run = run_extended(
        installed, project, f"--model={model}", *ONE, "--bench-strategy=notes", "-k=tern"
    )
    assert run.returncode == 0, run.output
    [record] = run.records
    assert (record["strategy"], record["raw"], record["outcome"]) == ("notes", "5", "right")
    assert [step["kind"] for step in record["steps"]] == ["ask", "ask"]
