"""`tablebench generate questions` and `answers` against a server: tables to a folder that runs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets.folder import check_dataset
from tests.support.openai_server import OpenAIServer
from tests.support.own_folders import only

WRITER, FIRST, SECOND, THIRD, JUDGE = (f"openai/{name}" for name in ["gpt-4o", "a", "b", "c", "j"])

FACTS = """\
[Question1]: How old is Ada, by the table that lists people with their names,
their ages in years and their towns of birth?
[Subtype1]: Value-Matching
[Question2]: Is it true that Bo is older than Ada, going by the ages in years
that the table has for both of these people?
[Subtype2]: Inference-based Fact Checking
[Question3]: What does the table of people say of
all the ages in years and the towns of birth that it lists in its rows?
[Subtype3]: Riddles
[Question5]: Is Bo older?
[Subtype5]: Value-Matching
[Question4]: How old is  Ada, by the table that lists people with their names,
their ages in years and their towns of birth?
[Subtype4]: value-matching
"""
NUMBERS = """\
[Question1]: What is the mean age in years of all people that the table lists
by their names and towns, with two decimals?
[Subtype1]: **Calculation**
"""

CHARTS = """\
[Question1]: Draw a bar chart of the ages in years of all people in the table,
with one bar for each of their names.
[Subtype1]: BarChart Generation
"""
BARS = """\
```python
import pandas as pd
import matplotlib.pyplot as plt
table = pd.read_excel("table.xlsx")
plt.bar(table["name"], table["age"]{more})
plt.show()
```"""

ANSWERS: dict[str, dict[str, str | None]] = {
    "Draw a bar": {"a": BARS.format(more=""), "b": BARS.format(more=" * 1.0"), "c": "No."},
    "How old is Ada": {"a": "36", "b": "36.0", "c": "63"},
    "Is it true": {"a": "no", "b": "yes", "c": "Yes"},
    "mean age": {"a": "38.50", "b": "39", "c": None},
}
MARKS = {"36": 90, "63": 100, "no": 100, "yes": 50, "38.50": 80, "39": 80, "[36.0, 41.0]": 70}


def said(body: dict[str, Any]) -> str:
    told, asked = (str(message["content"]) for message in body["messages"])
    if "write questions" in told:
        kinds = {"Fact Checking": FACTS, "Numerical Reasoning": NUMBERS, "Chart": CHARTS}
        return next(text for kind, text in kinds.items() if f"Task: {kind}" in told)
    question = next(name for name in ANSWERS if name in asked)
    if "rate one answer" in told:
        answer = asked.rpartition("Answer: ")[2].rpartition("values: ")[2].strip()
        return f"[Score]: {MARKS[answer]}/100"
    reply = ANSWERS[question][body["model"]]
    return "I do not know." if reply is None else f"So it is.\n[Final Answer]: {reply}"


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))


def test_tables_become_questions_and_these_a_folder_that_runs(
    tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ages.csv").write_text("name,age,town\nAda,36,Rome\nBo,41,Oslo\n", "utf-8")
    asking = [f"--bench-api-base={server.url}", f"--bench-store={tmp_path / 'answers'}"]
    questions = [
        "generate", "questions", str(tmp_path / "ages.csv"), "-o", str(tmp_path / "asked"),
        "--task=fc,nr,cg", f"--model={WRITER}", *asking,
    ]  # fmt: skip
    assert main([*questions, "--yes"]) == 0
    out = capsys.readouterr().out
    assert f"at most: {WRITER}: 3 questions, 0 in the answer store, 3 calls to pay" in out
    assert "4 questions from 1 table" in out
    assert "by subtask: fc 2, nr 1, cg 1" in out
    (rejected,) = [line for line in out.splitlines() if line.startswith("rejected: ")]
    assert set(rejected.removeprefix("rejected: ").split(", ")) == {
        "unknown sub-type 1",
        "duplicate 1",
        "question does not have 20 to 50 words 1",
    }
    assert "then: tablebench generate answers" in out
    open_rows = rows(tmp_path / "asked/questions.csv")
    assert {row["answer"] for row in open_rows} == {""}
    [ada] = [row for row in open_rows if row["question"].startswith("How")]
    assert ada["tags"] == "task=fc | subtype=Value-Matching | complexity=0-25 | made=annotation"
    assert ada["perturbations"] == "none | shuffle_rows | shuffle_cols"

    answering = [
        "generate", "answers", str(tmp_path / "asked"), "-o", str(tmp_path / "mine"),
        *(f"--model={name}" for name in (FIRST, SECOND, THIRD)), f"--judge={JUDGE}", *asking,
    ]  # fmt: skip
    before = server.calls
    assert main([*answering, "--yes"]) == 0
    out = capsys.readouterr().out
    assert f"at most: {FIRST}: 4 questions" in out
    assert f"at most: {JUDGE}: 12 questions" in out
    # Three answers to each question, seven different ones among them: each is rated once.
    assert server.calls - before == 12 + 7
    assert "accepted: 4 of 4" in out
    assert "no answer of a model: no marked answer 1" in out
    assert "no answer of a model: no program 1" in out
    assert "given by several 2" in out
    assert "tie broken 2" in out

    written = {row["question"].split()[0]: row for row in rows(tmp_path / "mine/questions.csv")}
    # 90 x 2 is more than 100 x 1. 50 x 2 is as much as 100 x 1, which has more marks. 80 is as
    # much as 80, and came first.
    assert {name: row["answer"] for name, row in written.items()} == {
        "How": "36", "Is": "no", "What": "38.50", "Draw": "[36.0, 41.0]",
    }  # fmt: skip
    assert written["What"]["tolerance"] == "0.01"
    review = rows(tmp_path / "mine/review.csv")
    assert [row["relevance_1"] + row["clarity_2"] for row in review] == [""] * 7
    assert [
        (row["taken"], row["answer"], row["given"], row["marks"], row["product"], row["models"])
        for row in review
        if row["question"].startswith("Is it true")
    ] == [
        ("yes", "no", "1", "100", "100", FIRST),
        ("no", "yes", "2", "50", "100", f"{SECOND}, {THIRD}"),
    ]
    dataset = only(tmp_path / "mine")
    assert check_dataset(dataset, tmp_path / "mine").problems == ()
