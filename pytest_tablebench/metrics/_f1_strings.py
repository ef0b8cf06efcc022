"""Token F1 of WikiTableQuestions (spec: torr.md sections 7.3, 8.2, 8.3 and 9, rows 1 and 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score, needs
from pytest_tablebench.metrics._f1 import f_measure
from pytest_tablebench.metrics._tokens import tokens, words
from pytest_tablebench.metrics._unicode import normalized


def token_f1(reference: Iterable[str], prediction: Iterable[str]) -> float:
    """Return F1 of two bags of tokens; 0 without a shared token."""
    reference_counts, prediction_counts = Counter(reference), Counter(prediction)
    return f_measure(
        (reference_counts & prediction_counts).total(),
        reference_counts.total(),
        prediction_counts.total(),
    )


@needs("spacy")
def f1_strings(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Return token F1 between a prediction and all references together (torr.md section 8.2).

    The tokens of all references form one bag, so every reference is expected. `reference` counts
    every token. `fixed` omits marks that only separate or wrap, and compares numbers by value.
    """
    if compat == "reference":
        joined = " ".join(str(reference) for reference in references)
        value = token_f1(tokens(joined), tokens(str(prediction)))
    else:
        value = token_f1(_plain_tokens(flat(references)), _plain_tokens(flat([prediction])))
    return Score(value, {"f1_strings": value}, "f1_strings")


def flat(values: Iterable[Processed]) -> list[str]:
    """Return processed values, lists and texts, as one list of texts."""
    return [
        str(item)
        for value in values
        for item in (value if isinstance(value, list | tuple) else [value])
    ]


def _plain_tokens(items: Iterable[str]) -> list[str]:
    return [word for item in items for word in words(normalized("NFC", item))]
