"""RealHiTBench's scores of answers in words and numbers (spec: realhitbench.md section 3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._bleu import bleu_tokens, smoothed_bleu
from pytest_tablebench.metrics._numbers import numbers_as_words
from pytest_tablebench.metrics._postprocess import plain_text, run_chain
from pytest_tablebench.metrics._rouge import rouge_l, rouge_l_of_texts
from pytest_tablebench.metrics._unicode import normalized

_DECIMAL = re.compile(r"\b\d+\.\d+\b")
_ASCII_TOKEN = re.compile(r"[a-z0-9]+")

# Chinese and Japanese are written without blanks: each of their characters is a token.
_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")

# `.75` is a number as well, but no part of `v1.25` or `1.25.3` is one.
_NUMBER_WITH_POINT = re.compile(r"(?<![\w.])[0-9]*+\.[0-9]++(?![\w.]*\w)")
_LONGEST_NUMBER = 400
_EXACT = Context(prec=_LONGEST_NUMBER + 2)
_TENTH = Decimal("0.1")


def realhit(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Exact match (the score), word F1, ROUGE-L and, in `reference`, SacreBLEU of an answer.

    For fact checking, numerical reasoning and structure comprehending. Each part is from 0 to
    1; of several references each part takes its own best.

    `reference`: decimals are rounded to one place, then case, marks and articles go, and with
    them signs, points and percent signs: `-3.2` equals `32`. Parts are rounded as published.

    `fixed`: each number is one word of its value, rounded to one place, so signs, points and
    percent signs count; a comma parts words; what would leave no text stays; ROUGE-L takes the
    letters of all scripts.
    """
    parts = _parts(prediction, references, compat)
    return Score(parts["em"], parts, "em")


def realhit_analysis(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Return the same parts as `realhit`; ROUGE-L is the score, as for data analysis."""
    parts = _parts(prediction, references, compat)
    return Score(parts["rouge_l"], parts, "rouge_l")


def _parts(
    prediction: Processed, references: Sequence[Processed], compat: Compat
) -> Mapping[str, float]:
    given = normal_form(str(prediction), compat)
    compare = _reference_parts if compat == "reference" else _fixed_parts
    # Without a reference nothing is right, and the parts have their names all the same.
    found = [compare(normal_form(str(text), compat), given) for text in references or [""]]
    return {name: max(parts[name] for parts in found) for name in found[0]}


def normal_form(text: str, compat: Compat) -> str:
    """Return what of an answer is compared."""
    if compat == "reference":
        return plain_text(_DECIMAL.sub(lambda match: str(round(float(match[0]), 1)), text))
    text = normalized("NFC", text)
    words = numbers_as_words(_NUMBER_WITH_POINT.sub(_rounded, text)).replace(",", " ")
    # The grade `A` is no article, and a lone mark is an answer.
    return plain_text(words) or str(run_chain(("lower_case", "fix_whitespace"), text))


def _rounded(match: re.Match[str]) -> str:
    if len(match[0]) > _LONGEST_NUMBER:
        return match[0]
    return str(Decimal(match[0]).quantize(_TENTH, ROUND_HALF_UP, _EXACT))


def _reference_parts(wanted: str, given: str) -> dict[str, float]:
    given = given or "#"  # so that no empty reference is met
    overlap = rouge_l_of_texts(wanted, given, compat="reference")
    if overlap is None:  # too long for the package
        overlap = rouge_l(_ASCII_TOKEN.findall(wanted), _ASCII_TOKEN.findall(given))
    return {
        "em": float(wanted == given),
        "f1": _percent(_word_f1(wanted, given)),
        "rouge_l": _percent(overlap),
        "sacrebleu": _percent(_sacrebleu(wanted, given)),
    }


def _fixed_parts(wanted: str, given: str) -> dict[str, float]:
    return {
        "em": float(wanted == given != ""),
        "f1": _word_f1(wanted, given),
        "rouge_l": rouge_l(_TOKEN.findall(wanted), _TOKEN.findall(given)),
    }


def _percent(share: float) -> float:
    """Round a share as one rounds its percentage to two places."""
    return round(100 * share, 2) / 100


def _word_f1(wanted: str, given: str) -> float:
    one, other = wanted.split(), given.split()
    same = (Counter(one) & Counter(other)).total()
    return 2 * same / (len(one) + len(other)) if same else 0.0


def _sacrebleu(wanted: str, given: str) -> float:
    """Return BLEU as SacreBLEU gives it for a corpus: 0 for fewer than four tokens."""
    tokens = bleu_tokens(given)
    return smoothed_bleu(tokens, bleu_tokens(wanted)) if len(tokens) >= 4 else 0.0
