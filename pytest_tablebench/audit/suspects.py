"""What an audit says about the gold answer of one example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

EvidenceKind = Literal[
    "agreement", "program", "derivation", "absent", "other_gold", "unit", "judge", "table"
]


@dataclass(frozen=True)
class Evidence:
    """One reason to doubt a gold answer, or to trust it.

    Arguments:
        kind: `agreement` of models, a `program` executed on the table, a `derivation` by rule,
            `absent` from the table, `other_gold` for the same question, `unit` (scale or rounding
            explains the difference), a `judge` that was asked, a broken `table`.
        text: one plain sentence for readers.
        answer: the answer that it supports; None if it only speaks against the gold.
        weight: the natural logarithm of how much more likely it is if the gold is wrong; negative
            if it supports the gold.
    """

    kind: EvidenceKind
    text: str
    answer: str | None
    weight: float


@dataclass(frozen=True)
class AnswerGroup:
    """Equal answers to one question.

    Arguments:
        answer: the answer as the metric read it.
        cases: the number of cases with it.
        voters: the models, or models with strategies, that gave it.
        is_gold: whether the metric counts it as right.
    """

    answer: str
    cases: int
    voters: tuple[str, ...]
    is_gold: bool


@dataclass(frozen=True)
class Suspect:
    """An example, and how suspicious its gold answer is.

    Arguments:
        digest: of the question, the gold answers and the tables (`row_digest`).
        tables: as in `ExampleText`: mappings with `title`, `header` and `rows`.
        gold: the published answers.
        suspicion: the probability that the gold is wrong, from 0 to 1.
        evidence: the strongest first.
        groups: the answers of the runs, the most frequent first.
        cells: the cells that matter, as (table, row of `rows`, column), from 0; row -1 is the
            header.
    """

    dataset: str
    example_id: str
    digest: str
    question: str
    tables: tuple[Mapping[str, Any], ...]
    gold: tuple[str, ...]
    suspicion: float
    evidence: tuple[Evidence, ...]
    groups: tuple[AnswerGroup, ...]
    cells: tuple[tuple[int, int, int], ...] = ()
