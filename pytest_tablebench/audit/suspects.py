"""What an audit says about the gold answer of one example, and the names of it in reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_tablebench.results.corrections import Verdict

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


VERDICT_NAMES: Mapping[Verdict, str] = {
    "right": "Gold right",
    "wrong": "Gold wrong",
    "several": "Several answers right",
    "unclear": "Question unclear",
    "broken": "Table broken",
}

EVIDENCE_NAMES: Mapping[EvidenceKind, str] = {
    "agreement": "models agree",
    "program": "program on the table",
    "derivation": "derived by rule",
    "absent": "not in the table",
    "other_gold": "other gold, same question",
    "unit": "unit or rounding",
    "judge": "a judge",
    "table": "fault of the table",
}

_MOST_ODDS = 1000


def odds_text(weight: float) -> str:
    """Return how far an evidence's weight speaks against the gold, or for it, as odds."""
    ratio = (
        math.exp(min(abs(weight), math.log(_MOST_ODDS) + 1)) if math.isfinite(weight) else math.inf
    )
    if ratio < 1.05:
        return "neutral"
    if ratio > _MOST_ODDS:
        number = f"over {_MOST_ODDS:,}"
    else:
        number = f"{ratio:.0f}" if ratio >= 9.5 else f"{ratio:.1f}"
    return f"{number} : 1 {'against' if weight > 0 else 'for'} the gold"
