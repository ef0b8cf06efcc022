"""ROUGE of this package and of rouge-score, over the same pairs of texts.

    python benchmarks/rouge.py [--pairs 1000] [--words 80]

Prints CPU milliseconds per pair, the best of `--repeat` runs, and the largest difference
between the two in any value: ROUGE-L alone, and all four variants over the same sentences.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable

from rouge_score.rouge_scorer import RougeScorer

from pytest_tablebench.metrics._rouge import VARIANTS, rouge
from pytest_tablebench.metrics._rouge_package import sentences

Pair = tuple[str, str]


def texts(pairs: int, words: int) -> list[Pair]:
    """Make pairs of prediction and reference that share words, order and some sentences."""
    draw = random.Random(0)
    vocabulary = [f"word{number}" for number in range(200)]
    made = []
    for _ in range(pairs):
        reference = [draw.choice(vocabulary) for _ in range(words)]
        prediction = [
            word if draw.random() < 0.6 else draw.choice(vocabulary) for word in reference
        ]
        made.append((prose(prediction), prose(reference)))
    return made


def prose(words: list[str]) -> str:
    """Join words into sentences of twelve."""
    found = [" ".join(words[start : start + 12]) for start in range(0, len(words), 12)]
    return ". ".join(sentence.capitalize() for sentence in found) + "."


def measure(function: Callable[[Pair], dict[str, float]], pairs: list[Pair], repeat: int) -> float:
    """Return CPU seconds for all pairs, the best of several runs."""
    best = float("inf")
    for _ in range(repeat):
        started = time.process_time()
        for pair in pairs:
            function(pair)
        best = min(best, time.process_time() - started)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--words", type=int, default=80)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    pairs = texts(given.pairs, given.words)
    print(f"{given.pairs} pairs of {given.words} words, best of {given.repeat}")
    print(f"{'':24}{'package ms':>12}{'here ms':>10}{'ratio':>8}{'difference':>12}")
    for label, variants in (("ROUGE-L", ("rougeL",)), ("all four variants", VARIANTS)):
        scorer = RougeScorer(list(variants))
        lsum = "rougeLsum" in variants

        def package(
            pair: Pair, scorer: RougeScorer = scorer, lsum: bool = lsum
        ) -> dict[str, float]:
            # The benchmark's reference splits sentences before it calls the package.
            prediction, reference = (
                ["\n".join(sentences(text)) for text in pair] if lsum else list(pair)
            )
            scored = scorer.score(reference, prediction)
            return {name: value.fmeasure for name, value in scored.items()}

        def here(pair: Pair, variants: tuple[str, ...] = variants) -> dict[str, float]:
            return dict(rouge(pair[0], [pair[1]], variants=variants).parts)

        difference = 0.0
        for pair in pairs:
            theirs, ours = package(pair), here(pair)
            if theirs.keys() != ours.keys():
                sys.exit(f"{label}: other variants than asked for: {sorted(ours)}")
            difference = max(difference, *(abs(theirs[name] - ours[name]) for name in ours))
        slow, fast = measure(package, pairs, given.repeat), measure(here, pairs, given.repeat)
        per = 1000 / given.pairs
        print(f"{label:24}{slow * per:12.3f}{fast * per:10.3f}{slow / fast:8.1f}{difference:12.1e}")


if __name__ == "__main__":
    main()
