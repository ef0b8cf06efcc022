"""The examples of an audit: question, tables, gold, and the answers of each voter.

A voter is a model with a strategy, and with a seed if its runs differ in it. All cases of a voter
about an example, in whatever serialization, share its one vote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_tablebench.audit.suspects import AnswerGroup
from pytest_tablebench.datasets import Example
from pytest_tablebench.metrics.normal_form import answer_text, joined_form
from pytest_tablebench.tables.table import Table

FEWEST_VOTERS = 2
"""Voters with an answer from which it is compared with the gold in scale, or sought in the table.

The answer of one model alone says nothing, because it may be a bad model.
"""


@dataclass(frozen=True)
class OtherAnswer:
    """A gold answer that the same question has in another place.

    Arguments:
        place: where it is, for readers: a file, a run or another example.
        form: its `normal_form`.
    """

    place: str
    answer: str
    form: str


@dataclass
class AuditedExample:
    """An example with the answers of all runs.

    Arguments:
        example: as the dataset has it, before perturbations.
        digest: its `row_digest`.
        votes: by voter, the number of its cases by the form of the answer. every answer that
            the metric counts as right has the form `gold_form`.
        texts: the usual spelling of each form.
        programs: by voter, the number of answers that an executed program printed, by form.
        metric: the registered name of the metric that scores the answers.
        others: gold answers of the same question elsewhere.
    """

    dataset: str
    example: Example
    digest: str
    votes: dict[str, Counter[str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    programs: dict[str, Counter[str]] = field(default_factory=dict)
    metric: str | None = None
    others: list[OtherAnswer] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        """The dataset and the id."""
        return self.dataset, self.example.id

    @cached_property
    def gold(self) -> tuple[str, ...]:
        """The published answers: the value for datasets whose reference is a program."""
        value = self.example.context.get("answer")
        if isinstance(value, str) and value and self.example.references != (value,):
            return (value,)
        return self.example.references

    @cached_property
    def gold_form(self) -> str:
        """The normal form of the gold."""
        return joined_form(self.gold)

    @cached_property
    def gold_text(self) -> str:
        """The gold as one text."""
        return answer_text(self.gold)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables of the example."""
        return tuple(value for value in self.example.inputs.values() if isinstance(value, Table))

    @cached_property
    def further_text(self) -> str:
        """The inputs that are neither tables nor the question, such as paragraphs of a report."""
        inputs = self.example.inputs.values()
        texts = [value for value in inputs if isinstance(value, str)]
        return "\n".join(text for text in texts if text != self.example.question)

    def groups(self) -> tuple[AnswerGroup, ...]:
        """Return the answers, the most frequent first."""
        return answer_groups(self.votes, self.texts, self.gold_form, self.gold_text)


def answer_groups(
    votes: Mapping[str, Counter[str]], texts: Mapping[str, str], gold_form: str, gold_text: str
) -> tuple[AnswerGroup, ...]:
    """Return groups of equal answers: those with most cases first, then by their text."""
    cases: Counter[str] = Counter()
    voters: dict[str, list[str]] = {}
    for voter, counts in sorted(votes.items()):
        cases.update(counts)
        for form in counts:
            voters.setdefault(form, []).append(voter)
    groups = [
        AnswerGroup(
            gold_text if form == gold_form else texts.get(form, form),
            count,
            tuple(voters[form]),
            form == gold_form,
        )
        for form, count in cases.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-group.cases, group.answer)))


def voters_of(examples: Sequence[AuditedExample]) -> list[str]:
    """Return the names of all voters."""
    return sorted({voter for example in examples for voter in example.votes})
