"""All metrics by name, and the function that scores an answer by one of them."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from math import isfinite
from typing import Any

from pytest_tablebench.config.compat import Compat, check_compat
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics._base import Judgement, Metric, Score
from pytest_tablebench.metrics._bleu import bleu
from pytest_tablebench.metrics._exact_match import exact_match, facts
from pytest_tablebench.metrics._f1 import f1_strings, tab_fact, tab_fact_batch, turl, turl_batch
from pytest_tablebench.metrics._fin_qa import fin_qa, fin_qa_value
from pytest_tablebench.metrics._instructions import treb_instruction
from pytest_tablebench.metrics._realhit import (
    realhit,
    realhit_analysis,
    realhit_judged,
    realhit_structure,
)
from pytest_tablebench.metrics._rouge import rouge
from pytest_tablebench.metrics._tablebench import tablebench, tablebench_answer
from pytest_tablebench.metrics._tatqa import tatqa
from pytest_tablebench.metrics._treb import em_letters, treb, treb_bleu, treb_em, treb_rouge
from pytest_tablebench.metrics._wikitq import wikitq
from pytest_tablebench.metrics.charts import realhit_chart, tablebench_chart
from pytest_tablebench.metrics.typed_answer import typed_answer
from pytest_tablebench.util.names import printable, unknown_name
from pytest_tablebench.util.signatures import source_of

METRICS: dict[str, Metric] = {
    function.__name__: function
    for function in (
        bleu,
        em_letters,
        exact_match,
        f1_strings,
        facts,
        fin_qa,
        fin_qa_value,
        realhit,
        realhit_analysis,
        realhit_chart,
        realhit_judged,
        realhit_structure,
        rouge,
        tab_fact,
        tab_fact_batch,
        tablebench,
        tablebench_answer,
        tablebench_chart,
        tatqa,
        treb,
        treb_bleu,
        treb_em,
        treb_instruction,
        treb_rouge,
        turl,
        turl_batch,
        typed_answer,
        wikitq,
    )
}


def begin(
    metric: str,
    prediction: Any,
    references: Any,
    *,
    compat: Compat = "fixed",
    metrics: Mapping[str, Metric] = METRICS,
    **context: Any,
) -> Judgement:
    """Start the conversation of a metric that asks a judge or runs programs.

    The arguments are those of `score`. Raises `SettingsError` as `score` does.
    """
    outcome = metrics[metric](prediction, references, compat=compat, **context)
    if not isinstance(outcome, Generator):
        raise SettingsError(f"metric {metric!r} has no conversation; score it with `score`")
    return _scored(metric, metrics[metric], outcome)


def _scored(metric: str, function: Metric, conversation: Judgement) -> Judgement:
    return _checked(metric, function, (yield from conversation))


def score(
    metric: str,
    prediction: Any,
    references: Any,
    *,
    compat: Compat = "fixed",
    metrics: Mapping[str, Metric] = METRICS,
    **context: Any,
) -> Score:
    """Score one processed prediction against its processed references.

    `references` is a sequence of accepted texts (for a `..._batch` metric both arguments have one
    entry per item). Raises `SettingsError` for an unknown metric or compat mode, and for a metric
    that returns anything but a score from 0 to 1 and finite parts.
    """
    check_compat(compat)
    try:
        function = metrics[metric]
    except KeyError:
        raise SettingsError(unknown_name("metric", metric, metrics)) from None
    if isinstance(references, str) or not isinstance(references, Sequence):
        raise SettingsError(f"metric {metric!r}: references must be a list, not {references!r:.60}")
    outcome = function(prediction, references, compat=compat, **context)
    if isinstance(outcome, Generator):
        outcome.close()
        raise SettingsError(
            f"metric {metric!r} asks a judge or runs programs, so it scores only datasets that "
            f"declare it as their metric"
        )
    return _checked(metric, function, outcome)


def _checked(metric: str, function: Metric, scored: Score) -> Score:
    """Return the score with Python's own floats, which JSON and the statistics need."""
    try:
        value = float(scored.value)
        parts = {str(name): float(part) for name, part in scored.parts.items()}
    except (AttributeError, TypeError, ValueError):
        raise SettingsError(
            f"metric {metric!r}{source_of(function)} returned {printable(repr(scored), 80)}; it "
            f"must return a Score of numbers"
        ) from None
    if not 0 <= value <= 1 or not all(map(isfinite, parts.values())):
        raise SettingsError(
            f"metric {metric!r}{source_of(function)} returned {printable(repr(scored), 80)}; "
            f"scores must be from 0 to 1, and parts finite"
        )
    part = getattr(scored, "part", None)
    named = part if isinstance(part, str) and part in parts else None
    flags = tuple(map(str, getattr(scored, "flags", ())))
    is_unclear, why = bool(getattr(scored, "unclear", False)), str(getattr(scored, "why", ""))
    return Score(value, parts, named, flags, is_unclear, why)
