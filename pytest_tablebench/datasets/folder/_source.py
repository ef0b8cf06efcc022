"""The opened questions of a dataset folder."""

from __future__ import annotations

from pytest_tablebench.datasets._sources import RowSource
from pytest_tablebench.datasets.folder._questions import Question

__all__ = ["FolderSource"]


class FolderSource(RowSource[Question]):
    """A folder's questions, each of which may say how its tables may be rearranged."""

    def perturbations(self, example_id: str) -> tuple[str, ...] | None:
        """Return the perturbations under which an answer stays true; None: all of them.

        Without a table there is nothing to rearrange.
        """
        question = self._read[example_id]
        return question.perturbations if question.tables else ("none",)
