"""An example: one question over its tables, with what is expected of the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_tablebench.tables.perturbations import Question
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile


@dataclass(frozen=True)
class Example:
    """One question over one table (or several).

    Arguments:
        id: unique inside its dataset, stable across versions.
        inputs: the named inputs in the dataset's own order; every `Table` among them is what
            perturbations change and serializers show.
        question: the question or statement, for people reading reports.
        references: the accepted answers, unprocessed; what a metric does with several is
            the metric's business.
        target: what a demonstration shows as its answer.
        context: what the metric needs beside the texts.
        tags: what kind of question it is, as names and values: `{"type": "lookup"}`. A sample is
            spread over them.
        metric: the registered metric that scores its answers; None: the dataset's.
        threshold: the score from which they are right; None: the dataset's, or its test's.
        has_verdict: False where its answers have a score, and the dataset's threshold makes none
            of them right or wrong. One that a test's marker or an option names does.
        former: the example before a perturbation gave it another answer.
        cluster: what it shares with other examples, such as the id of its table, its document or
            its paraphrase group; None: its tables, by their content. Intervals take clusters as
            independent, not examples. Datasets of one benchmark that use the same name share it.
    """

    id: str
    inputs: Mapping[str, Any]
    question: str
    references: tuple[str, ...]
    target: str
    context: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    metric: str | None = None
    threshold: float | None = None
    has_verdict: bool = True
    former: Example | None = field(default=None, repr=False)
    cluster: str | None = None

    def with_tables(self, change: Callable[[Table], Table]) -> Example:
        """Return the example with every table among its inputs changed.

        So is one that lies beside a program, as a `TableFile` of the context.
        """
        inputs = {
            name: change(value) if isinstance(value, Table) else value
            for name, value in self.inputs.items()
        }
        context = {
            name: value.changed(change) if isinstance(value, TableFile) else value
            for name, value in self.context.items()
        }
        return replace(self, inputs=inputs, context=context)

    def changed(self, change: Callable[[Question], Question]) -> Example:
        """Return the example with other tables and other answers, in its context too."""
        names = [name for name, value in self.inputs.items() if isinstance(value, Table)]
        others = [value for name, value in self.inputs.items() if name not in names]
        shown = Table, TableFile
        facts: dict[str, Any] = {
            name: value
            for name, kind in _FACTS.items()
            if isinstance(value := self.context.get(name), kind)
        }
        context = [
            value
            for name, value in self.context.items()
            if not isinstance(value, shown) and name not in facts
        ]
        old = tuple(self.inputs[name] for name in names)
        changed = change(
            Question(
                old,
                "\n".join(map(str, [*others, self.question])),
                self.references,
                self.tags.get("kind", ""),
                repr(context),
                **facts,
            )
        )
        tables = dict(zip(map(id, old), changed.tables, strict=True))
        answers = dict(zip(self.references, changed.answers, strict=True))
        example = self.with_tables(lambda table: tables.get(id(table), table))
        new_context = {
            name: tables.get(id(value), _answered(value, answers))
            for name, value in example.context.items()
        }
        return replace(
            example,
            references=changed.answers,
            target=_with_answers(self.target, answers),
            context={**new_context, **{name: getattr(changed, name) for name in facts}},
        )


_FACTS: Mapping[str, type] = {"aliases": Mapping, "unit": str, "tolerance": str}
"""Names of the context that a `Question` has as fields of their own, and their types."""


def _with_answers(text: str, answers: Mapping[str, str]) -> str:
    """Return a text with other answers, replaced in one pass: no new one is replaced again."""
    new = {old: other for old, other in answers.items() if old != other and old}
    if not new:
        return text
    # The longest first, and no part of a longer word or number.
    choices = "|".join(map(re.escape, sorted(new, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.])(?:{choices})(?!\w|\.\d)", lambda match: new[match[0]], text)


def _answered(value: Any, answers: Mapping[str, str]) -> Any:
    """Return a value of the context with other answers where it holds answers."""
    if isinstance(value, str):
        return answers.get(value, value)
    if isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
        return type(value)([answers.get(text, text) for text in value])
    return value


def text_key(example: Example) -> Hashable:
    """Return the inputs other than tables: examples that differ here are not the same."""
    return tuple(str(value) for value in example.inputs.values() if not isinstance(value, Table))
