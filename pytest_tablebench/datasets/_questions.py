"""Datasets of questions over tables in memory: the user's data in a few lines of code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._dataset import Dataset, PromptParts, Render
from pytest_tablebench.datasets._example import Example, text_key
from pytest_tablebench.datasets._source import RowSource, SourceFacts
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table

INSTRUCTION = (
    "Answer the question from the table alone, without any knowledge of your own. "
    "Reply with the answer and nothing else: no explanation, no sentence around it. "
    "If the answer has several items, separate them by a comma and a space. "
    "Write names, dates and numbers in the same form as the table does, with the unit where "
    "the cells have one. Answer statements to be judged with true or false."
)


def table_question(
    example_id: str,
    table: Table,
    question: str,
    answers: Sequence[str],
    *,
    ordered: bool = False,
    aliases: Mapping[str, Sequence[str]] = MappingProxyType({}),
    tags: Mapping[str, str] = MappingProxyType({}),
    cluster: str | None = None,
) -> Example:
    """Return a question about a table. A right reply contains all `answers`.

    Arguments:
        example_id: unique in the dataset.
        table: the table that the question is about.
        question: the question as the model receives it.
        answers: the items of the answer.
        ordered: whether the order of the items matters.
        aliases: other accepted texts for an answer: `{"United Kingdom": ["UK", "Great Britain"]}`.
        tags: the kind of question, `{"type": "lookup"}`; a sample is spread over the tags.
        cluster: the name of a group of related questions, for intervals; None to group by the
            content of the table.

    Raises `DataError` if `answers` is not a list, or an alias belongs to no answer or to two.
    """
    if isinstance(answers, str) or not answers:
        raise DataError(f"question {example_id!r}: answers must be a list with at least one text")
    context: dict[str, Any] = {"ordered": True} if ordered else {}
    if aliases:
        context["aliases"] = _checked_aliases(example_id, answers, aliases)
    return Example(
        id=example_id,
        inputs={"question": question, "table": table},
        question=question,
        references=tuple(answers),
        target=", ".join(answers),
        context=context,
        tags=dict(tags),
        cluster=cluster,
    )


def _checked_aliases(
    example_id: str, answers: Sequence[str], aliases: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    owner = {answer: answer for answer in answers}
    for answer, others in aliases.items():
        if answer not in answers:
            raise DataError(
                f"question {example_id!r}: aliases for {answer!r}, which is not an answer"
            )
        if isinstance(others, str):
            raise DataError(f"question {example_id!r}: the aliases of {answer!r} must be a list")
        for other in others:
            if owner.setdefault(other, answer) != answer:
                raise DataError(
                    f"question {example_id!r}: {other!r} is an alias of both {owner[other]!r} and "
                    f"{answer!r}"
                )
    return {answer: tuple(others) for answer, others in aliases.items()}


def memory_source(
    examples: Iterable[Example],
    demonstrations: Iterable[Example] = (),
    facts: SourceFacts | None = None,
) -> RowSource[Example]:
    """Return examples and demonstrations as a source. Raises `DataError` if an id occurs twice."""
    by_id: dict[str, Example] = {}
    for example in examples:
        if example.id in by_id:
            raise DataError(f"two questions have the id {example.id!r}; ids must be unique")
        by_id[example.id] = example
    shown = tuple(demonstrations)
    return RowSource(
        by_id.values(),
        lambda: shown,
        make=lambda example: example,
        key=text_key,
        facts=lambda: facts or SourceFacts({}),
        place="questions in memory",
    )


class TableQuestions(Dataset):
    """A dataset of short questions over tables, scored by exact match or another metric.

    Arguments:
        name: its name in options, markers and reports.
        examples: the questions (see `table_question`), or a function that returns them, called
            when the first test needs them.
        demonstrations: worked examples for the prompt, which shows `shots` of them.
        benchmark: the benchmark whose figures include this dataset.
        instruction: the prompt's first lines.
        prompt: makes the whole prompt, in place of `instruction`, table and question.
        chain: the post-processors of replies and references.
        metric: the registered metric that scores replies. It receives `ordered` and `aliases` of a
            question as keyword arguments. None if the tests alone decide.
        threshold: the lowest score of a right answer.
        tags: tags of all questions; a question's own tag of the same name has priority.
    """

    def __init__(
        self,
        name: str,
        examples: Iterable[Example] | Callable[[], Iterable[Example]],
        *,
        demonstrations: Sequence[Example] = (),
        shots: int = 0,
        benchmark: str = "own",
        instruction: str = INSTRUCTION,
        prompt: Callable[[Example, Render], PromptParts] | None = None,
        chain: Sequence[str] = ("take_first_non_empty_line", "strip_answer_marker"),
        metric: str | None = "exact_match",
        threshold: float = 1.0,
        tags: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = self.folder = name
        self.benchmark = benchmark
        self.metric = metric
        self.shots = shots
        self.threshold = threshold
        self._examples = examples
        self._demonstrations = demonstrations
        self._instruction = instruction
        self._prompt = prompt
        self._chain = tuple(chain)
        self._tags = dict(tags)

    def open(
        self,
        folder: Path,  # noqa: ARG002 - nothing is read from the data folder
        *,
        compat: Compat = "fixed",  # noqa: ARG002 - there is no reference
        **options: Any,  # noqa: ARG002 - there are no options
    ) -> RowSource[Example]:
        """Return the questions."""
        examples = self._examples() if callable(self._examples) else self._examples
        tagged = (replace(example, tags={**self._tags, **example.tags}) for example in examples)
        return memory_source(tagged if self._tags else examples, self._demonstrations)

    def chain(self, compat: Compat) -> tuple[str, ...]:  # noqa: ARG002 - there is no reference
        """Return the post-processors; by default the first line without an answer marker."""
        return self._chain

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt's pieces; by default title (if any), table and question."""
        if self._prompt is not None:
            return self._prompt(example, render)
        table: Table = example.inputs["table"]
        title = f"Title: {table.title}\n" if table.title else ""
        question = example.inputs["question"]
        source = f"{title}Table:\n{render(table)}\n\nQuestion: {question}\n"
        return PromptParts(self._instruction, source, "Answer: ")
