"""Replace the gold answers of an example by the answers of a correction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_tablebench.datasets._asked import AskedDataset
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets.rows import BadRowError
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.tables.table import Table


class NotCorrectableError(TableBenchError):
    """The metric of an example cannot score other answers; the message is the reason."""


_STRUCTURED: Mapping[str, str] = {
    "facts": "its gold is a list of facts",
    "fin_qa": "its gold is a program",
    "realhit_chart": "its gold is a chart",
    "tablebench_chart": "its gold is a chart",
    "treb_instruction": "its gold is a rule",
}
"""The metrics whose gold is not a plain answer, and the reason to leave their examples out."""

_ONE_TEXT = ("tab_fact", "turl")
"""The metrics that compare with the first reference only, which contains all items."""


def with_answers(form: AskedDataset, example: Example, answers: Sequence[str]) -> Example:
    """Return an example with other expected answers, before any perturbation.

    As for references, the metric decides whether several answers are items of one answer or
    alternatives. Values in the context that were derived from the published answer are derived
    again; those that the dataset states stay.

    Arguments:
        form: the dataset in the form that decides the metric.
        example: the example with the published gold.
        answers: at least one.

    Raises `NotCorrectableError` if the metric needs more than plain answers.
    """
    metric = form.about(example).metric
    reason = _STRUCTURED.get(str(metric))
    if reason is not None:
        raise NotCorrectableError(reason)
    references = tuple(answers)
    if metric in _ONE_TEXT and len(references) > 1:
        references = (", ".join(references),)
    return replace(
        example,
        references=references,
        target=", ".join(answers),
        context=_context(metric, example, references),
    )


def _context(metric: str | None, example: Example, answers: Sequence[str]) -> dict[str, Any]:
    context = dict(example.context)
    aliases = context.get("aliases")
    if isinstance(aliases, Mapping):
        context["aliases"] = {text: aliases[text] for text in answers if text in aliases}
    if metric == "fin_qa_value":
        context |= {"answer": answers[0], "exe_ans": _value(answers[0])}
    if metric == "typed_answer" and "kind" in context:
        context = _typed(context, example, answers)
    return context


def _value(text: str) -> float | str:
    """Return an answer of FinQA as its programs compute it: `12.5%` is 0.125."""
    plain = text.strip().lower()
    if plain in {"yes", "no"}:
        return plain
    try:
        value = float(plain.removesuffix("%").replace(",", "").replace("$", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise NotCorrectableError("the corrected answer is no number")
    return round(value / 100 if plain.endswith("%") else value, 5)


def _typed(context: dict[str, Any], example: Example, answers: Sequence[str]) -> dict[str, Any]:
    """Return the context of `typed_answer` with the kind of the new answers.

    Only entries that equal those derived from the published answer are replaced.
    """
    from pytest_tablebench.datasets.folder._answers import answer_context

    tables = [value for value in example.inputs.values() if isinstance(value, Table)]
    tolerance = context.get("tolerance") or None
    facts: dict[str, Any] = {"metric": None, "tolerance": tolerance, "unit": None}
    try:
        before = answer_context(tables, example.references, **facts)
        after = answer_context(tables, answers, **facts)
    except BadRowError as error:
        raise NotCorrectableError(f"the corrected answer has no kind: {error}") from None
    derived = {name for name in {*before, *after} if context.get(name) == before.get(name)}
    kept = {name: value for name, value in context.items() if name not in derived}
    context = {**kept, **{name: value for name, value in after.items() if name in derived}}
    if len(answers) > 1 and context["kind"] not in {"list", "ordered_list"}:
        context["kind"] = "list"
    return context
