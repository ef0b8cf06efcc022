"""Common settings, base classes and table reader of ToRR's datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_tablebench.datasets._file_dataset import FileDataset, R, RowDataset
from pytest_tablebench.datasets.files import QuestionRow
from pytest_tablebench.datasets.torr import NOT_REQUIRED, PARTLY, REQUIRED, SKILLS
from pytest_tablebench.metrics.meteor import HOW, has_wordnet

CLOSING = (
    "What follows are examples of inputs with their outputs. Read them to work out how an output "
    "follows from its input, then write the output of the last one."
)
"""The remark at the end of every instruction (spec: torr.md section 3)."""

SOURCE_LIMIT = 10_000
"""Records read per split, before filtering (spec: torr.md section 1)."""


_QA, _CHECKING, _TO_TEXT = "table QA", "fact checking", "table to text"
_WIKIPEDIA, _SCIENCE, _DIVERSE = "Wikipedia", "science", "diverse"

ABOUT: Mapping[str, tuple[str, ...]] = {
    "finqa": (_QA, "finance", REQUIRED, REQUIRED, REQUIRED),
    "wikitq": (_QA, _WIKIPEDIA, REQUIRED, REQUIRED, PARTLY),
    "tabfact": (_CHECKING, _WIKIPEDIA, REQUIRED, REQUIRED, PARTLY),
    "turl_cta": ("column type annotation", _WIKIPEDIA, PARTLY, NOT_REQUIRED, NOT_REQUIRED),
    "numericnlg": (_TO_TEXT, _SCIENCE, PARTLY, PARTLY, NOT_REQUIRED),
    "scigen": (_TO_TEXT, _SCIENCE, PARTLY, PARTLY, NOT_REQUIRED),
    "qtsumm": (_TO_TEXT, _WIKIPEDIA, REQUIRED, PARTLY, PARTLY),
    "tablebench_da": ("data analysis", _DIVERSE, REQUIRED, REQUIRED, REQUIRED),
    "tablebench_fc": (_CHECKING, _DIVERSE, REQUIRED, REQUIRED, PARTLY),
    "tablebench_nr": ("numerical reasoning", _DIVERSE, REQUIRED, REQUIRED, REQUIRED),
}
"""Task and domain of each dataset, and whether it requires each of `SKILLS`."""


class ToRR(FileDataset[R]):
    """A dataset of ToRR; the defaults are 100 examples and five demonstrations."""

    benchmark = "torr"
    shots = 5
    limit: int | None = 100

    def __init_subclass__(cls, *, section: str = "") -> None:
        super().__init_subclass__(section=section)
        if section:
            cls.instruction += CLOSING

    def tags(self) -> Mapping[str, str]:
        """Return the dataset's task and domain, and whether it requires each skill."""
        # A variant outside the benchmark (finqa_text) asks the same questions.
        facts = ABOUT.get(self.name.removesuffix("_text"), ())
        return dict(zip(("task", "domain", *SKILLS), facts, strict=False))


class ToRRRows(ToRR[QuestionRow], RowDataset):
    """A ToRR dataset whose rows ask about one table each."""


class ToRRTexts(ToRRRows):
    """A ToRR dataset whose answers are texts, which the paper also scores by METEOR."""

    metric = "rouge"
    options = ("meteor",)

    def context(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return whether the metric adds METEOR."""
        return {"with_meteor": True} if options.get("meteor") else {}

    def option_notes(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return a note if METEOR is requested and cannot be computed."""
        if not options.get("meteor") or has_wordnet():
            return ()
        return (f"METEOR is absent from every case: nltk finds no WordNet ({HOW})",)
