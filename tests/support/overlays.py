"""A toy run with a file of corrections, whose figures are easy to compute by hand."""

from __future__ import annotations

from pathlib import Path

from pytest_tablebench.datasets import Example, row_digest
from pytest_tablebench.results.corrections import Correction, write_corrections
from pytest_tablebench.tables.table import Table
from tests.support.toy_bench import ADA, BO, CY, SUITE, Bench

DI = ["di", "How old is Di?", ["7"]]

OVERLAY = "--bench-corrections=gold.csv"

TOY_TABLE = Table(["Name", "Age"], [["Ada", "36"], ["Bo", "41"], ["Cy", "12"]])


def toy_digest(row: list) -> str:
    """Return the digest of a row of the toy dataset."""
    example_id, question, answers = row
    inputs = {"question": question, "table": TOY_TABLE}
    return row_digest(Example(example_id, inputs, question, tuple(answers), ""))


def correction(row: list, verdict: str, *answers: str) -> Correction:
    """Return a correction of a row of the toy dataset."""
    return Correction("toy", row[0], toy_digest(row), verdict, answers)  # type: ignore[arg-type]


RIGHT, WRONG, BROKEN = (
    correction(ADA, "right"),
    correction(BO, "wrong", "40"),
    correction(CY, "broken"),
)


def toy_model(bench: Bench, bo: str = "40", name: str = "script.jsonl") -> str:
    """Return a model that is right about Ada and Cy, and by the published gold wrong about others.

    By the published gold its performance is 2 of 4; by the corrected gold 2 of 3, because Bo is
    right, and Cy is left out.
    """
    replies = {"Ada": "36", "Bo": bo, "Cy": "12", "Di": "8"}
    lines = [{"match": f"How old is {who}?", "text": text} for who, text in replies.items()]
    return bench.script(*lines, name=name)


def write_overlay(folder: Path, *corrections: Correction, name: str = "gold.csv") -> Path:
    """Write a file of corrections; by default of Ada, Bo and Cy."""
    path = folder / name
    write_corrections(path, corrections or (RIGHT, WRONG, BROKEN))
    return path


def prepare(bench: Bench) -> Bench:
    """Give a bench four questions, the suite, and the file of corrections."""
    bench.data(toy=[ADA, BO, CY, DI])
    bench.suite(SUITE)
    write_overlay(bench.path)
    return bench
