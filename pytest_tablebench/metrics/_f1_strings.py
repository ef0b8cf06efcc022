"""Token F1 of WikiTableQuestions (spec: torr.md sections 7.3, 8.2, 8.3 and 9, rows 1 and 2)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from pytest_tablebench.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._numbers import canonical_number

__all__ = ["f1_strings", "wikitq"]

# Marks that only separate or wrap answers; signs such as %, $, + and - carry meaning.
_WRAPPING = frozenset(",.;:!?'\"()[]{}`´‘’“”«»„…")

_LONG = 1000
_LONG_RUN = re.compile(rf"(\S{{{_LONG},}})")


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    # The rules alone: equal to the reference's pipeline with every component off.
    from spacy.lang.en import English

    return English().tokenizer


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[str, ...]:
    # The tokenizer takes no lone surrogates, and its time grows with the square of a run of
    # marks without a blank: a run that no answer has counts as one token.
    text = text.encode("utf-8", "replace").decode("utf-8")
    tokens: list[str] = []
    for piece in _LONG_RUN.split(text):
        if len(piece) >= _LONG and _LONG_RUN.fullmatch(piece):
            tokens.append(piece.lower())
        else:
            tokens += (token.text.lower() for token in _tokenizer()(piece))
    return tuple(tokens)


def _f1(reference: Iterable[str], prediction: Iterable[str]) -> float:
    wanted, given = Counter(reference), Counter(prediction)
    overlap = (wanted & given).total()
    if not overlap:
        return 0.0
    # Precision and recall first, then their harmonic mean: the reference's order of
    # operations, so the last digit agrees too.
    precision, recall = overlap / given.total(), overlap / wanted.total()
    return 2 * precision * recall / (precision + recall)


def f1_strings(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Token F1 between a prediction and all references together (torr.md section 8.2).

    The tokens of every reference form one bag, so all of several references are expected.
    `reference` counts every token, `fixed` compares plain answers (see `wikitq`).
    """
    if compat == "reference":
        joined = " ".join(str(reference) for reference in references)
        value = _f1(_tokens(joined), _tokens(str(prediction)))
    else:
        value = _f1(_plain_tokens(_flat(references)), _plain_tokens(_flat([prediction])))
    return Score(value, {"f1_strings": value})


def wikitq(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Token F1 (the score) and exact match of a WikiTableQuestions answer.

    `reference`: both values are the texts of Python lists, whose brackets and quotes take
    part in F1, and the exact match compares the sorted characters of the prediction with
    those of the first reference (sections 7.3 and 8.3).
    `fixed`: items are compared as plain answers. A number counts as its value (`1,234.0` is
    `1234`); other text as its lower-cased tokens without separating and wrapping marks, where
    it holds anything else; exact match is the equality of both sides' items in any order,
    every reference wanted.
    """
    score = f1_strings(prediction, references, compat=compat)
    if compat == "reference":
        first = str(references[0]) if references else ""
        exact = float(sorted(str(prediction)) == sorted(first))
    else:
        wanted = sorted(_plain_item(item) for item in _flat(references))
        given = sorted(_plain_item(item) for item in _flat([prediction]))
        # "January 26 1995" answers "January 26, 1995", which the chain splits at its comma.
        joined = _plain_tokens(_flat(references)) == _plain_tokens(_flat([prediction]))
        exact = float(bool(wanted) and (wanted == given or joined))
    return Score(score.value, {"unsorted_list_exact_match": exact, "f1_strings": score.value})


def _flat(values: Iterable[Processed]) -> list[str]:
    return [
        str(item)
        for value in values
        for item in (value if isinstance(value, list | tuple) else [value])
    ]


def _plain_tokens(items: Iterable[str]) -> list[str]:
    tokens: list[str] = []
    for item in items:
        number = canonical_number(item.strip())
        if number is not None:
            tokens.append(number)
            continue
        words = [
            token
            for token in _tokens(unicodedata.normalize("NFC", item))
            if not token.isspace() and not all(character in _WRAPPING for character in token)
        ]
        if words:
            tokens += (canonical_number(word) or word for word in words)
        elif item.strip():
            tokens.append(item.strip().lower())  # marks wrap nothing here: they are the answer
    return tokens


def _plain_item(item: str) -> str:
    return " ".join(_plain_tokens([item]))
