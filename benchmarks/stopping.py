"""The share of the planned cases that the stopping rule needs for its decision.

    python benchmarks/stopping.py [--runs 20]

A row is a typical situation: the numbers of planned examples and configurations, and the gates. A
model's score on an example depends on the example (its level) and on chance.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from itertools import islice, product
from statistics import mean

from pytest_tablebench.claims.gates import StoppingRule, order
from pytest_tablebench.results import ScoreRow

SERIALIZERS = ["html", "csv", "json", "markdown", "indexed_row_major", "df", "concat"]
PERTURBATIONS = ["none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows"]
GRID = list(product(SERIALIZERS, PERTURBATIONS))

PLACES: Sequence[tuple[str, int, int, float, str, float]] = (
    # description, examples, configurations, mean score, gate, drop from the baseline
    ("whole grid, far above the bound", 100, 35, 0.6, "d.performance >= 0.4", 0.0),
    ("whole grid, near the bound", 100, 35, 0.5, "d.performance >= 0.45", 0.0),
    ("whole grid, a drop of 10 points", 100, 35, 0.5, "d.performance >= baseline - 0.02", 0.1),
    ("one configuration, far above", 300, 1, 0.7, "d.performance >= 0.5", 0.0),
    ("one configuration, a drop of 15", 300, 1, 0.6, "d.performance >= baseline - 0.02", 0.15),
    ("robustness, far above", 100, 35, 0.6, "d.robustness >= 0.2", 0.0),
)


def cells(examples: int, configurations: int, level: float, seed: int) -> list[ScoreRow]:
    """Return the cells of a made-up run, in which three in four examples always score the same."""
    world, draw = random.Random(f"world {seed}"), random.Random(f"draw {level} {seed}").random
    found = []
    for example in range(examples):
        sure, own = world.random() < 0.75, world.random()
        for serializer, perturbation in islice(GRID, configurations):
            score = float((own if sure else draw()) < level)
            names = "d", f"e{example}", serializer, perturbation
            found.append(ScoreRow("b", *names, score, score == 1, None))
    return found


def share(gate: str, new: list[ScoreRow], old: list[ScoreRow]) -> float:
    """Return the share of the cases that the rule had received when it decided."""
    rule = StoppingRule([gate], new, baseline=old if "baseline" in gate else None)
    for number, record in enumerate(order(new), start=1):
        rule.feed(record)
        if rule.decided:
            return number / len(new)
    return 1.0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    for about, examples, configurations, level, gate, drop in PLACES:
        shares = [
            share(
                gate,
                cells(examples, configurations, level - drop, seed),
                cells(examples, configurations, level, seed),
            )
            for seed in range(runs)
        ]
        print(f"{about:<34}{mean(shares):>10.2f}", flush=True)


if __name__ == "__main__":
    main()
