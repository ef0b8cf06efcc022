"""The cost of judging gates on a run of ToRR's size, and of following a run for early stopping.

    python benchmarks/gates.py [--datasets 10] [--examples 100] [--gates 20]

Prints seconds for judging all gates against a baseline (reading the records included) and
microseconds for each record that a stopping rule receives.
"""

from __future__ import annotations

import argparse
import random
import time
from itertools import islice, product

from pytest_tablebench.claims.gates import StoppingRule, judge_gates, order
from pytest_tablebench.results import ScoreRow

SERIALIZERS = ["html", "csv", "json", "markdown", "indexed_row_major", "df", "concat"]
PERTURBATIONS = ["none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows"]
MEASURES = ["performance", "robustness", "pass_rate"]


def records(datasets: int, examples: int, seed: int) -> list[ScoreRow]:
    """Return random cells, one in a thousand without an answer."""
    draw = random.Random(seed).random
    found = []
    for dataset in range(datasets):
        for example in range(examples):
            level = random.Random(f"{dataset}/{example}").random()
            for serializer, perturbation in product(SERIALIZERS, PERTURBATIONS):
                score = None if draw() < 0.001 else float(draw() < level)
                passed = None if score is None else score >= 0.5
                names = f"d{dataset}", f"e{example}", serializer, perturbation
                found.append(ScoreRow("torr", *names, score, passed, None))
    return found


def gate_texts(datasets: int) -> list[str]:
    """Return many gates of all kinds, the gates of the whole benchmark first."""
    scopes = ["torr", "all", *(f"d{number}" for number in range(datasets)), "d0[html]", "torr[csv]"]
    return [
        *(f"{scope}.{measure} >= baseline - 0.05" for measure, scope in product(MEASURES, scopes)),
        "all.no_answer <= 0.01",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=10)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--gates", type=int, default=20)
    options = parser.parse_args()
    new, old = (records(options.datasets, options.examples, seed) for seed in (1, 2))
    gates = list(islice(gate_texts(options.datasets), options.gates))
    judge_gates(new[:70], gates[:1], old[:70])  # libraries are loaded before the clock starts
    start = time.process_time()
    judge_gates(new, gates, old)
    seconds = time.process_time() - start
    print(f"{len(gates)} gates over {len(new)} records and a baseline: {seconds:.2f} s of CPU")
    start = time.process_time()
    rule = StoppingRule(gates, new, baseline=old)
    set_up = time.process_time() - start
    sequence = order(new)
    start = time.process_time()
    for record in sequence:
        rule.feed(record)
    each = (time.process_time() - start) / len(sequence) * 1e6
    print(f"stopping: {set_up:.2f} s to set up, {each:.0f} microseconds a record")


if __name__ == "__main__":
    main()
