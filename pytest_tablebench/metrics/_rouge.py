"""ROUGE of generated text (spec: torr.md section 8.1; Lin 2004).

`reference` calls the rouge-score package. `fixed` computes the same numbers in a fraction of the
time: for the longest common subsequence it needs one machine word per 64 tokens instead of one
table cell per pair of tokens.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score, heavy
from pytest_tablebench.metrics._bleu import sentence_bleu
from pytest_tablebench.metrics._f1 import f_measure
from pytest_tablebench.metrics._rouge_package import f_measures, is_affordable, sentences
from pytest_tablebench.metrics.meteor import meteor

VARIANTS = ("rouge1", "rouge2", "rougeL", "rougeLsum")

MAX_TOKENS = 30_000
"""Tokens of a text that are used for its longest common subsequences."""

MAX_UNION_STEPS = 5_000_000
"""Bound on ROUGE-Lsum's work: tokens of the prediction times sentences of the reference."""

_TOKEN = re.compile(r"[a-z0-9]+")


@heavy
def rouge(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    variants: Collection[str] = VARIANTS,
    with_meteor: bool = False,
    with_bleu: bool = False,
    **_: Any,
) -> Score:
    """Return F-measures of ROUGE-1, -2, -L (the score) and -Lsum; 0 if a side has no token.

    Tokens are the sequences of a-z and 0-9 in the lower-cased text, not stemmed. With several
    references, each variant uses its best one. `variants` selects the parts; without rougeL the
    score is 0. `with_meteor` adds the part `meteor` if it can be computed (see `meteor.py`).
    `with_bleu` adds the part `bleu`, sacreBLEU's sentence BLEU.

    The time is bounded for texts that are far too long: longest common subsequences use the first
    `MAX_TOKENS` tokens of a text, ROUGE-Lsum as many of the prediction's sentences as
    `MAX_UNION_STEPS` allows. Omitted tokens count as not matched. `reference` compares texts that
    are too long for the package in the same way.
    """
    names = [variant for variant in VARIANTS if variant in variants]
    each = [_f_measures(names, str(reference), str(prediction), compat) for reference in references]
    parts = {name: max((measures[name] for measures in each), default=0.0) for name in names}
    if with_meteor and (value := meteor(list(map(str, references)), str(prediction))) is not None:
        parts["meteor"] = value
    if with_bleu:
        texts = [text for text in map(str, references) if text.strip()]
        values = [sentence_bleu(str(prediction), text) for text in texts]
        parts["bleu"] = max(values, default=0.0)
    return Score(parts.get("rougeL", 0.0), parts, "rougeL")


def _f_measures(
    names: Sequence[str], reference: str, prediction: str, compat: Compat
) -> dict[str, float]:
    if compat == "reference" and is_affordable(reference, prediction):
        return f_measures(names, reference, prediction)
    texts = _reference(reference), _prediction(prediction)
    return {name: _SCORERS[name](*texts) for name in names}


def rouge_l_of_texts(reference: str, prediction: str, compat: Compat) -> float:
    """Return the F-measure of ROUGE-L of two texts."""
    return _f_measures(["rougeL"], reference, prediction, compat)["rougeL"]


def rouge_l(reference: Sequence[str], prediction: Sequence[str]) -> float:
    """Return the F-measure of ROUGE-L over given tokens, within the same bounds."""
    hits = common_length(reference, prediction)
    return f_measure(hits, len(reference), len(prediction))


class _Text:
    """A text and its token counts, each computed on first use."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text.lower())

    @cached_property
    def unigrams(self) -> Counter[str]:
        return Counter(self.tokens)

    @cached_property
    def bigrams(self) -> Counter[tuple[str, str]]:
        return Counter(zip(self.tokens, self.tokens[1:], strict=False))

    @cached_property
    def bits(self) -> Mapping[str, int]:
        return _bits(self.tokens[:MAX_TOKENS])

    @cached_property
    def sentences(self) -> list[tuple[str, ...]]:
        """Tokens of each sentence; line ends separate sentences too."""
        lines = "\n".join(sentences(self.text)).split("\n")
        return [tuple(_TOKEN.findall(line.lower()))[:MAX_TOKENS] for line in lines]


# The references of an example occur again in each of its cases.
_reference = lru_cache(maxsize=512)(_Text)
# One prediction is compared with several references in turn.
_prediction = lru_cache(maxsize=1)(_Text)


def _rouge_1(reference: _Text, prediction: _Text) -> float:
    hits = (reference.unigrams & prediction.unigrams).total()
    return f_measure(hits, len(reference.tokens), len(prediction.tokens))


def _rouge_2(reference: _Text, prediction: _Text) -> float:
    hits = (reference.bigrams & prediction.bigrams).total()
    return f_measure(hits, len(reference.tokens) - 1, len(prediction.tokens) - 1)


def _rouge_l(reference: _Text, prediction: _Text) -> float:
    width = min(len(reference.tokens), MAX_TOKENS)
    hits = _common_length(reference.bits, width, prediction.tokens[:MAX_TOKENS])
    return f_measure(hits, len(reference.tokens), len(prediction.tokens))


def _rouge_lsum(reference: _Text, prediction: _Text) -> float:
    """Union of the longest common subsequences per reference sentence (Lin 2004, section 3.2).

    No token counts more often than either text contains it.
    """
    left = reference.unigrams & prediction.unigrams
    candidates = _affordable(reference, list(dict.fromkeys(filter(None, prediction.sentences))))
    hits = 0
    for sentence in reference.sentences:
        for position in _union(sentence, candidates):
            if left[sentence[position]] > 0:
                left[sentence[position]] -= 1
                hits += 1
    return f_measure(hits, len(reference.tokens), len(prediction.tokens))


_SCORERS = {"rouge1": _rouge_1, "rouge2": _rouge_2, "rougeL": _rouge_l, "rougeLsum": _rouge_lsum}


def _bits(tokens: Sequence[str]) -> dict[str, int]:
    """Return, for each token, its positions as the bits of a number."""
    positions: dict[str, int] = {}
    for position, token in enumerate(tokens):
        positions[token] = positions.get(token, 0) | 1 << position
    return positions


# Both functions below keep one row of the usual table of common lengths per prediction token, as
# bits: bit i is 0 where the length grows from reference position i to i + 1 (Hyyrö 2004).


def _common_length(bits: Mapping[str, int], width: int, tokens: Sequence[str]) -> int:
    """Return the length of the longest common subsequence; `bits` has `width` positions."""
    row = full = (1 << width) - 1
    for token in tokens:
        matches = bits.get(token)
        if matches:
            both = row & matches
            row = (row + both | row - both) & full
    return width - row.bit_count()


def common_length(reference: Sequence[str], prediction: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of the first `MAX_TOKENS` of each."""
    tokens = reference[:MAX_TOKENS]
    return _common_length(_bits(tokens), len(tokens), prediction[:MAX_TOKENS])


def _common_positions(
    reference: Sequence[str], bits: Mapping[str, int], tokens: Sequence[str]
) -> list[int]:
    """Return the reference positions of one longest common subsequence, last one first.

    Of several it is the published one: traced back from the end, one step back in the reference
    unless the cell before in the prediction has a larger length.
    """
    row = full = (1 << len(reference)) - 1
    rows = []
    for token in tokens:
        both = row & bits.get(token, 0)
        if both:
            row = (row + both | row - both) & full
        rows.append(row)
    indexes = []
    i, j = len(reference) - 1, len(tokens) - 1
    while i >= 0 and j >= 0:
        if reference[i] == tokens[j]:
            indexes.append(i)
            i -= 1
            j -= 1
        elif rows[j] >> i & 1:
            i -= 1
        else:
            j -= 1
    return indexes


def _union(sentence: Sequence[str], candidates: Sequence[tuple[str, ...]]) -> list[int]:
    """Return the positions of a reference sentence that any candidate shares, sorted."""
    bits = _bits(sentence)
    union: set[int] = set()
    for candidate in candidates:
        if not bits.keys().isdisjoint(candidate):
            union.update(_common_positions(sentence, bits, candidate))
            if len(union) == len(sentence):
                break
    return sorted(union)


def _affordable(
    reference: _Text, candidates: Sequence[tuple[str, ...]]
) -> Sequence[tuple[str, ...]]:
    """Return as many candidates as the bound on the work allows."""
    cost = len(reference.sentences) + len(reference.tokens) // 32
    left = MAX_UNION_STEPS // max(cost, 1)
    for count, candidate in enumerate(candidates):
        if len(candidate) > left:
            return [*candidates[:count], candidate[:left]]
        left -= len(candidate)
    return candidates
