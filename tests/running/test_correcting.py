"""Corrections of examples that the data lack, or have in another version."""

from __future__ import annotations

from pathlib import Path

from pytest_tablebench import Table
from pytest_tablebench.datasets import TableQuestions, table_question
from pytest_tablebench.results.corrections import Correction, Corrections
from pytest_tablebench.running.correcting import correction_problems


def test_only_a_correction_with_a_digest_depends_on_the_version_of_the_data() -> None:
    table = Table(["Name", "Age"], [["ada", "36"]])
    question = table_question("ada", table, "How old is ada?", ["36"], cluster="ada")
    source = TableQuestions("ages", [question], metric="typed_answer", threshold=1.0).open(Path())
    items = [("ada", "*"), ("bo", "*"), ("ada", "d"), ("cy", "d")]
    problems = [
        problem
        for example, digest in items
        for _, problem in correction_problems(
            Corrections.of([Correction("ages", example, digest, "wrong", ("37",))]),
            {"ages": ["ada"]},
            lambda _: source,
        )
    ]
    assert [problem.split(";")[0].split(" (")[0] for problem in problems] == [
        "ages/ada: the row changed since this correction was made",
        "ages/cy does not exist in this data",
    ]
