"""Common settings and base classes of ToRR's datasets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.datasets._example import Example, Stratum
from pytest_tablebench.datasets._file_dataset import FileDataset, R, sections
from pytest_tablebench.datasets.torr import SKILLS
from pytest_tablebench.metrics.meteor import HOW, has_wordnet
from pytest_tablebench.tables.table import Table

CLOSING = (
    "What follows are examples of inputs with their outputs. Read them to work out how an output "
    "follows from its input, then write the output of the last one."
)
"""The remark at the end of every instruction (spec: torr.md section 3)."""

SOURCE_LIMIT = 10_000
"""Records read per split, before filtering (spec: torr.md section 1)."""


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
        facts = sections(__package__)["tags"].get(self.name.removesuffix("_text"), ())
        return dict(zip(("task", "domain", *SKILLS), facts, strict=False))


@dataclass(frozen=True)
class QuestionRow:
    """A usable row with a question about one table.

    Arguments:
        text: the question, statement or caption.
        answer: the reference; a demonstration shows it as its answer.
        table: makes the table, which may be expensive.
        table_name: the name of the table if several rows share it; a sample is spread over them.
        number: the number of the row in its file.
    """

    id: str
    text: str
    answer: str
    table: Callable[[], Table]
    table_name: str | None = None
    number: int | None = None


class ToRRRows(ToRR[QuestionRow]):
    """A dataset whose rows ask about one table each; the text is the input `text_name`."""

    text_name = "question"

    def example(self, row: QuestionRow) -> Example:
        """Make the example of a row."""
        return Example(
            id=row.id,
            inputs={"table": row.table(), self.text_name: row.text},
            question=row.text,
            references=(row.answer,),
            target=row.answer,
        )

    def key(self, row: QuestionRow) -> Hashable:
        """Return the text."""
        return (row.text,)

    def stratum(self, row: QuestionRow) -> Stratum | None:
        """Return a stratum with the table's name, or None if the row has none."""
        return None if row.table_name is None else Stratum((), row.table_name)


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
