"""Questions without answers, as a folder contains them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_tablebench.generate.annotate._prompts import TASKS, QuestionFamily

__all__ = ["USUAL", "UnansweredQuestion"]

USUAL = "fc"
"""The task of a question without a tag `task`."""


@dataclass(frozen=True)
class UnansweredQuestion:
    """A question without an answer, as a row of a folder."""

    id: str
    text: str
    tags: Mapping[str, str] = field(default_factory=dict)
    metric: str = ""
    threshold: str = ""
    perturbations: tuple[str, ...] = ()

    @property
    def task(self) -> QuestionFamily:
        """The family of the question."""
        return TASKS.get(self.tags.get("task", ""), TASKS[USUAL])
