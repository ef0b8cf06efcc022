"""ROUGE by the rouge-score package, as the published evaluations call it."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any

from pytest_tablebench.metrics._sentences import sentences

MAX_STEPS = 400_000
"""Product of the token counts of both texts; above it the package takes over a second."""

MAX_LETTERS = 60
"""Letters of the longest word that is stemmed; the stemmer scans a word for each ending."""

_WORD = re.compile(r"[a-z0-9]+")


def is_affordable(reference: str, prediction: str) -> bool:
    """Return whether the package compares two texts in about a second or less.

    Its time grows with the product of the token counts, and a reply can be a megabyte long.
    """
    words = [_WORD.findall(text.lower()) for text in (reference, prediction)]
    is_short = len(words[0]) * len(words[1]) <= MAX_STEPS
    return is_short and all(len(word) <= MAX_LETTERS for text in words for word in text)


def f_measures(
    variants: Collection[str], reference: str, prediction: str, *, stemmed: bool = False
) -> dict[str, float]:
    """Return the package's F-measure of each variant, from 0 to 1.

    For ROUGE-Lsum each sentence is a line, as in ToRR's published evaluation.
    """
    scorer = _scorer(tuple(variants), stemmed)
    if "rougeLsum" in variants:
        reference, prediction = ("\n".join(sentences(text)) for text in (reference, prediction))
    scores = scorer.score(reference, prediction)
    return {name: float(scores[name].fmeasure) for name in variants}


@lru_cache(maxsize=8)
def _scorer(variants: tuple[str, ...], stemmed: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([*variants], use_stemmer=stemmed)
