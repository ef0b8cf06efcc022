"""An example: a question over tables with its expected answers, and what it shares with others."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, NamedTuple

from pytest_tablebench.tables.perturbations import Question
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile


@dataclass(frozen=True)
class Example:
    """One question over one table (or several).

    Arguments:
        id: unique inside its dataset, stable across versions.
        inputs: the named inputs in the dataset's order. Perturbations and serializers apply to
            each `Table` among them.
        question: the question or statement, for readers of reports.
        references: the expected answers, unprocessed. The metric decides what several mean.
        target: the answer that a demonstration shows.
        context: further values that the metric needs.
        tags: the kind of question, as names and values: `{"type": "lookup"}`. A sample is spread
            over them.
        metric: the registered metric that scores its answers; None for the dataset's.
        threshold: the lowest score of a right answer; None for the dataset's or the test's.
        has_verdict: False if the dataset's threshold does not decide whether an answer is right. A
            threshold that a test's marker or an option sets still does.
        former: the example before a perturbation changed its answer.
        cluster: a name that it shares with related examples, such as the id of its table, its
            document or its paraphrase group; None to group by the content of its tables. Intervals
            treat clusters, not examples, as independent. Datasets of one benchmark that use the
            same name share the cluster.
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
        """Return the example with each table of its inputs and each `TableFile` changed."""
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
        """Return the example with changed tables and answers, in its context too."""
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
"""Names in the context that are fields of `Question`, and their types."""


def _with_answers(text: str, answers: Mapping[str, str]) -> str:
    """Replace answers in a text, in one pass: a new answer is not replaced again."""
    new = {old: other for old, other in answers.items() if old != other and old}
    if not new:
        return text
    # The longest first, and never inside a longer word or number.
    choices = "|".join(map(re.escape, sorted(new, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.])(?:{choices})(?!\w|\.\d)", lambda match: new[match[0]], text)


def _answered(value: Any, answers: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return answers.get(value, value)
    if isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
        return type(value)([answers.get(text, text) for text in value])
    return value


def text_key(example: Example) -> Hashable:
    """Return the inputs other than tables; they identify an example."""
    return tuple(str(value) for value in example.inputs.values() if not isinstance(value, Table))


LONGEST, DIGITS = 80, 20
"""The most characters of a cluster's name; the digits of the digest that replaces a longer one."""


class Stratum(NamedTuple):
    """The tags of an example and the table it asks about."""

    tags: Hashable
    table: Hashable


def stratum_of(example: Example) -> Stratum:
    """Return an example's stratum, with its id in place of the table if it has none."""
    tables = [value for value in example.inputs.values() if isinstance(value, Table)]
    if not tables:
        return Stratum(tuple(sorted(example.tags.items())), example.id)
    content = repr([(table.header, table.rows) for table in tables])
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()
    return Stratum(tuple(sorted(example.tags.items())), digest)


def cluster_of(example: Example) -> str:
    """Return the name of an example's cluster, at most `LONGEST` characters.

    If the example does not name one, it is a digest of its tables, or its id without a table.
    """
    return cluster_name(example.cluster or stratum_of(example).table)


def cluster_name(shared: Hashable) -> str:
    """Return the cluster's name for a value that its examples share; a long one is a digest."""
    if isinstance(shared, bytes):
        return shared.hex()[:DIGITS]
    name = str(shared)
    if 0 < len(name) <= LONGEST:
        return name
    return hashlib.sha256(table_key(name)).hexdigest()[:DIGITS]


def table_key(table: Hashable) -> bytes:
    """Return bytes that identify the table of a stratum, the same on every machine."""
    if isinstance(table, bytes):
        return table
    return str(table).encode("utf-8", "surrogatepass")


_DIGEST_BYTES = 10


def row_digest(example: Example) -> str:
    """Return 20 hexadecimal digits of the question, the references and the tables.

    Pass the example before any perturbation. Other inputs and the context do not count.
    """
    tables = [value for value in example.inputs.values() if isinstance(value, Table)]
    content = [
        example.question,
        list(example.references),
        [[table.title, list(table.header), [list(row) for row in table.rows]] for table in tables],
    ]
    text = json.dumps(content, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


@dataclass(frozen=True)
class OtherGold:
    """The gold of an example in another version.

    Arguments:
        place: the file, for readers.
        example_id: as in the version that the dataset reads.
        question: as the other version words it.
    """

    place: str
    example_id: str
    question: str
    answers: tuple[str, ...]
