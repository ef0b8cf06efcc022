"""A judged case that a person marks, to compare the judge with people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

LabelScale = Literal["marks", "right_wrong"]
"""`marks`: whole marks from 0 to 10. `right_wrong`: two choices."""


@dataclass(frozen=True)
class LabelCase:
    """A case with everything that a person needs to mark the reply.

    Arguments:
        case_id: as in the run's records.
        tables: as in `ExampleText`: mappings with `title`, `header` and `rows`.
        reply: what the judge received.
        judge_mark: the judge's score, from 0 to 1; None if it gave none.
        scale: the marks that the case's judge uses.
    """

    case_id: str
    dataset: str
    question: str
    tables: tuple[Mapping[str, Any], ...]
    references: tuple[str, ...]
    reply: str
    judge_mark: float | None = None
    scale: LabelScale = "marks"
