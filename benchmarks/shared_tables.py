"""Error rates of intervals and gates if examples share tables, with clusters and without.

    python -m benchmarks.shared_tables [--runs 2000] [--seed 0]

Each simulated run has 120 questions, 10 about each of 12 tables. Each table has its own probability
of right answers (beta distributed), so that answers about one table correlate. Each run is written
as lines of records.jsonl, read back as records, and judged through the score table like a folder
by `tablebench rejudge` and `merge`: once with the tables' names in the records, and once without
them, as earlier versions wrote records.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_tablebench.claims.gates import judge_gates
from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.results import Record, ScoreTable

TABLES, PER_TABLE = 12, 10
MEAN = 0.6
CORRELATIONS = (0.0, 0.15, 0.3)


@dataclass(frozen=True)
class Rates:
    """Shares of simulated runs: the truth inside the interval, and wrong verdicts on gates.

    `holds` is of `>= truth + .0001`, which is false, `fails` of `>= baseline` for equal models.
    """

    coverage: float
    holds: float
    fails: float


def right_answers(draw: np.random.Generator, correlation: float) -> list[bool]:
    """Return whether each answer is right, table by table."""
    shares = np.full(TABLES, MEAN)
    if correlation:
        size = (1 - correlation) / correlation
        shares = draw.beta(MEAN * size, (1 - MEAN) * size, TABLES)
    return (draw.random((TABLES, PER_TABLE)) < shares[:, None]).ravel().tolist()


def records_of(answers: Sequence[bool], *, named: bool) -> Iterator[Record]:
    """Yield the records of a run after writing and reading them like a run folder's."""
    for number, is_right in enumerate(answers):
        record = Record(
            case_id=f"d/e{number}/html/none",
            model="m",
            benchmark="d",
            dataset="d",
            example_id=f"e{number}",
            serializer="html",
            perturbation="none",
            strategy="direct",
            modality="text",
            outcome="right" if is_right else "wrong",
            score=float(is_right),
            threshold=1.0,
            passed=is_right,
            metric="exact_match",
            raw=f"{number} {is_right}",
            cluster=f"table {number // PER_TABLE}" if named else None,
        )
        yield Record.from_line(record.to_line())


def rates(correlation: float, *, named: bool, runs: int, seed: int = 0) -> Rates:
    """Return the rates over simulated runs; the same seed gives the same answers."""
    draw = np.random.default_rng([seed, int(1000 * correlation)])
    covered = held = failed = 0
    for _ in range(runs):
        new, old = (
            ScoreTable.from_records(records_of(right_answers(draw, correlation), named=named))
            for _ in range(2)
        )
        low, high = summarize(new)["benchmarks"]["d"]["ci95"]["performance"]
        covered += low <= MEAN <= high
        [false] = judge_gates(new, [f"d.performance >= {MEAN + 1e-4}"])
        held += false.state == "holds"
        [equal] = judge_gates(new, ["d.performance >= baseline"], old)
        failed += equal.state == "fails"
    return Rates(covered / runs, held / runs, failed / runs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rates for each correlation inside tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print(f"{given.runs:,} runs of {TABLES * PER_TABLE} questions over {TABLES} tables, in %")
    columns = f"{'covered':>8}{'holds falsely':>15}{'fails falsely':>15}"
    print(f"{'correlation':>11}  {'records':16}{columns}")
    for correlation in CORRELATIONS:
        for named in (False, True):
            found = rates(correlation, named=named, runs=given.runs, seed=given.seed)
            print(
                f"{correlation:>11}  {'name tables' if named else 'without tables':16}"
                f"{100 * found.coverage:>8.1f}{100 * found.holds:>15.1f}{100 * found.fails:>15.1f}"
            )


if __name__ == "__main__":
    main()
