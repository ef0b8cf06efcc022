"""What a dataset is: where examples come from, how they are asked, how replies are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from pytest_tablebench.config.compat import Compat
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


@dataclass(frozen=True)
class PromptParts:
    """The pieces a prompt is assembled from (spec: torr.md section 4).

    `reference_instruction` takes the instruction's place in `reference` mode, where the
    published wording has a fault that `fixed` must not repeat. `reference_reply` is what a model
    is made to have said between instruction and source there, where the published scripts ask in
    turns.
    """

    instruction: str
    source: str
    target_prefix: str = ""
    reference_instruction: str | None = None
    reference_reply: str = ""


@dataclass(frozen=True)
class Problem:
    """A row that cannot be used, and why; the other rows still run.

    `field` is "" for a problem of a whole file.
    """

    file: str
    row: int | None
    field: str
    message: str

    def __str__(self) -> str:
        row = "" if self.row is None else f", row {self.row}"
        field = f", field {self.field!r}" if self.field else ""
        return f"{self.file}{row}{field}: {self.message}"


@dataclass(frozen=True)
class SourceFacts:
    """What a run records about its data: files by digest, and notes people must know."""

    files: Mapping[str, str]
    notes: tuple[str, ...] = ()


class Pool(Protocol):
    """The candidates for demonstrations, in file order, loaded one at a time."""

    def __len__(self) -> int:
        """Number of items."""
        ...

    def key(self, index: int) -> Hashable:
        """Return `text_key` of the item without loading its tables."""
        ...

    def __getitem__(self, index: int) -> Example:
        """Load one item."""
        ...


class Source(Protocol):
    """A dataset's opened files.

    A source may have a further method, `stratum(example_id)`, that returns the `Stratum` of an
    example without loading it; without one, `--bench-sample` loads every example. With a method
    `does_not_apply(example_id, serializer, perturbation)` it says, by ids alone, why a case makes
    no sense (rows are shuffled, and the question is about the first one); None: it does. Such
    cases are not collected, and the run counts them by what this returns. What only the table can
    tell stays a case without an answer. `metrics` holds the metrics that examples name, each with
    the place where.
    With a method `as_given(table, serializer)` it shows a table that no perturbation has changed as
    its own files have it in that format, pictures (`image`) too; None: as the serializer does, and
    so for a table that it did not make.
    """

    @property
    def facts(self) -> SourceFacts:
        """Return file digests and notes."""
        ...

    @property
    def problems(self) -> Sequence[Problem]:
        """Return the rows found unusable so far."""
        ...

    @property
    def pool(self) -> Pool:
        """Return the pool of demonstrations."""
        ...

    def example_ids(self, limit: int | None) -> Sequence[str]:
        """Return the first `limit` usable examples' ids in file order (None: all of them).

        Loads no more than it must: ids, and what the dataset's filter has to look at.
        """
        ...

    def example(self, example_id: str) -> Example:
        """Load one example; raises `DataError` for one that cannot be used."""
        ...


Render = Callable[[Table], str]


class ReplyForm(Protocol):
    """The form that a dataset's prompts ask of plain replies.

    Every score has the part `parse@1` then: whether the first reply had the form.
    """

    def is_met(self, reply: str) -> bool:
        """Return whether an answer is read in a reply."""
        ...

    def note(self, example: Example) -> str:
        """Return what is added to the question where it is asked again."""
        ...


class Dataset(Protocol):
    """A dataset's fixed properties, and the way to its files.

    Attributes:
        name, benchmark: as in options and reports.
        folder: the folder of its files inside the data folder; its name, unless several
            datasets read the same files.
        shots, limit, threshold: see `Defaults`, whose other names a dataset may have as well:
            formats, strategy, parameters and whatever else holds where no option says otherwise.
        get: `tablebench pull NAME`, or one shell command line with `{folder}` for the target,
            that fetches the files; empty for a dataset that comes with the package.

    A dataset may have further attributes: `strategy`, by which it is asked where no option names
    one; `answer_forms`, a mapping from ways of asking to `AnswerForm`, for the ways in which its
    answers are not asked for or judged as in a plain reply (see `_answer_forms.py`); `options`,
    the names of settings that `open` is given by keyword; `reading(compat)`, the post-processors
    that find the answer in a plain reply, ahead of `chain`; `reply_form`, a `ReplyForm`;
    `refuses(strategy)`, the reason why it is not asked by a strategy, or None; and
    `versions(example)`, the examples that are asked one after the other in one case: its metric
    is given the list of all answers.
    """

    name: str
    folder: str
    benchmark: str
    shots: int
    limit: int | None
    threshold: float
    get: str

    @property
    def metric(self) -> str | None:
        """Name the registered metric that scores a processed reply.

        None, or no such attribute: an answer is right where all tests over it pass.
        """
        ...

    def open(self, folder: Path, *, compat: Compat = "fixed") -> Source:
        """Open the files under `folder`; `DataMissing` or `DataError` say what is wrong.

        `compat` is for datasets whose published reader differs from what its paper means;
        the others accept it and pay no heed.
        """
        ...

    def chain(self, compat: Compat) -> tuple[str, ...]:
        """Return the post-processors applied, in order, to replies and references."""
        ...

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt's pieces; `render` turns a table into text."""
        ...


def open_dataset(
    dataset: Dataset, folder: Path, *, compat: Compat, settings: Mapping[str, Any]
) -> Source:
    """Open the files under `folder`, with what the dataset asks for of the settings of a run.

    Raises what `open` raises.
    """
    names = getattr(dataset, "options", ())
    options = {name: settings[name] for name in names if name in settings}
    return dataset.open(folder, compat=compat, **options)


def metric_of(dataset: object) -> str | None:
    """Return the metric a dataset declares, None where it declares none."""
    return getattr(dataset, "metric", None) or None


def render_field(value: Any, render: Render) -> str:
    """Turn one input into text: tables by the serializer, lists by comma and space, else str."""
    if isinstance(value, Table):
        return render(value)
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return str(value)
