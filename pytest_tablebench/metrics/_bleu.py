"""BLEU of one generated text (Papineni and others 2002), as each benchmark reports it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import exp, log
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score, heavy

_LONGEST = 4
"""BLEU counts runs of 1 to 4 tokens."""

# The tokens of NIST's mteval script, version 13a: marks stand alone, but for apostrophes, points
# and commas inside numbers, and hyphens that follow no digit. (nltk's needs data of its own.)
_ENTITIES = (("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_APART = (
    (re.compile(r"([!-&(-+/:-@\[-`{-~])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


@heavy
def bleu(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",  # noqa: ARG001 - both modes are the published definition
    **_: Any,
) -> Score:
    """BLEU-4 of one text, 0 to 1, without smoothing: 0 where no run of four tokens is shared.

    Of several references each run counts as often as
    the one that holds it most often, and the one nearest in length sets the brevity penalty.
    """
    from nltk.translate.bleu_score import (
        brevity_penalty,
        closest_ref_length,
        modified_precision,
    )

    words = bleu_tokens(str(prediction))
    reference_words = [list(tokens) for tokens in map(bleu_tokens, map(str, references)) if tokens]
    value = 0.0
    if words and reference_words:
        shares = [modified_precision(reference_words, words, n) for n in range(1, _LONGEST + 1)]
        if all(share.numerator for share in shares):
            nearest = closest_ref_length(reference_words, len(words))
            mean = sum(map(log, shares)) / _LONGEST
            value = min(1.0, brevity_penalty(nearest, len(words)) * exp(mean))
    return Score(value, {"bleu": value}, "bleu")


def smoothed_bleu(words: Sequence[str], reference_words: Sequence[str]) -> float:
    """Return BLEU of one text's tokens against one reference's, 0 to 1, as sacrebleu smooths it.

    Runs of one to four tokens, as far as the text is long enough for any; where none of a length
    is shared, half a run counts the first time, a quarter the second, and so on (Chen and Cherry
    2014, method 3). Where no token is shared the result is 0.
    """
    if not set(words) & set(reference_words):
        return 0.0
    shares, unshared = [], 1
    for length in range(1, min(_LONGEST, len(words)) + 1):
        total = len(words) - length + 1
        shared = (_runs(words, length) & _runs(reference_words, length)).total()
        if not shared:
            unshared *= 2
        shares.append(shared / total if shared else 1 / (unshared * total))
    brevity = (
        exp(1 - len(reference_words) / len(words)) if len(words) < len(reference_words) else 1.0
    )
    return min(1.0, brevity * exp(sum(map(log, shares)) / len(shares)))


def _runs(tokens: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(length)), strict=False))


def bleu_tokens(text: str) -> list[str]:
    """Return the tokens of a text as NIST's script cuts them, version 13a."""
    text = text.replace("-\n", "")
    for written, character in _ENTITIES:
        text = text.replace(written, character)
    return cut_tokens(text)


def cut_tokens(text: str) -> list[str]:
    """Return the tokens of a text in which no character is written as an entity."""
    text = f" {text} "
    for pattern, apart in _APART:
        text = pattern.sub(apart, text)
    return text.split()
