"""TableBench's three short-answer datasets as ToRR reads and asks them (torr.md section 3.8)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._base import (
    Example,
    PromptParts,
    Render,
    SourceFacts,
    render_field,
    text_key,
)
from pytest_tablebench.datasets._sources import RowSource, digests
from pytest_tablebench.datasets.torr._common import CLOSING
from pytest_tablebench.datasets.torr._tablebench_files import Row, find_version
from pytest_tablebench.util.seeds import seeded_random

__all__ = ["DATASETS", "TableBench", "split_lottery"]

INSTRUCTION = (
    "You are a table analyst and answer questions about the content of a table.\n\n"
    "{answer_formatter}\n\n"
    "Output only the final answer to the question.\n" + CLOSING
)

_SPLITS = ("train", "validation", "test")
_SHARES = (0.2, 0.2, 0.6)

_ITEMS = (
    "Answer in the form: Final Answer: item, item, ... Each item is a number or a name, as short "
    "as possible and without explanation"
)
_SENTENCE = "Answer in the form: Final Answer: text. "
FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "CorrelationAnalysis": (
            "Answer in the form: Final Answer: relation, coefficient. The coefficient has two "
            "decimals. The relation is No correlation for a coefficient nearer to zero than 0.3, "
            "Weak positive correlation or Weak negative correlation up to 0.7 either way, and "
            "Strong positive correlation or Strong negative correlation beyond. Write nothing else."
        ),
        "TrendForecasting": (
            f"{_ITEMS}; where a trend is asked for, the item is Increasing trend, Decreasing trend "
            "or No clear trend."
        ),
        "ImpactAnalysis": (
            f"{_ITEMS}; where an impact is asked for, the item is Positive impact, Negative impact "
            "or No clear impact."
        ),
        "CausalAnalysis": (
            f"{_SENTENCE}The text gives the conclusion first (Yes, No, or which has more "
            "influence) and then, in a few words, the reason with the correlation coefficient in "
            "brackets."
        ),
        "DescriptiveAnalysis": (
            f"{_SENTENCE}The text says in two or three sentences what the table holds, what its "
            "main columns mean, and what can be seen from them."
        ),
        "AnomalyDetection": (
            f"{_SENTENCE}The text says in one sentence how many anomalies there are, which ones, "
            "and why each is one; without any it is: No anomalies are detected in the table."
        ),
    }
)
"""The form of an answer by qsubtype, for the version of the files that does not say it."""

DEFAULT_FORMAT = f"{_ITEMS}."


def split_lottery(count: int) -> list[str]:
    """Return the split of each of `count` records: train, validation or test (section 6.4)."""
    draw = seeded_random("test")
    return [draw.choices(_SPLITS, weights=_SHARES)[0] for _ in range(count)]


def _example(row: Row) -> Example:
    formatter = row.formatter
    if formatter is None:
        formatter = FORMATS.get(row.qsubtype, DEFAULT_FORMAT)
    return Example(
        id=row.id,
        inputs={"table": row.table, "question": row.question, "answer_formatter": formatter},
        question=row.question,
        references=(row.answer,),
        target=row.answer,
        tags={"type": row.qsubtype},
    )


class TableBench:
    """One kind of TableBench's questions; short answers, five demonstrations.

    The three kinds read the same files. Upstream there is one split only: a seeded lottery
    makes a fifth of the questions demonstrations and evaluates three fifths.

    Arguments:
        name: the dataset's name.
        qtype: the kind, as in upstream's field of that name.
    """

    folder = "tablebench"
    benchmark = "torr"
    metric = "tablebench"
    shots = 5
    limit: int | None = 100
    threshold = 0.8
    get = "tablebench pull tablebench"

    def __init__(self, name: str, qtype: str) -> None:
        self.name = name
        self.qtype = qtype

    def open(
        self,
        folder: Path,
        *,
        compat: Compat = "fixed",  # noqa: ARG002 - both modes read the same
    ) -> RowSource[Row]:
        """Open the files in `folder`, whichever of upstream's versions they are."""
        version = find_version(folder, self.qtype, get=self.get)
        splits = split_lottery(len(version.rows))
        rows: dict[str, list[Row]] = {name: [] for name in _SPLITS}
        for row, split in zip(version.rows, splits, strict=True):
            if row is not None:
                rows[split].append(row)
        return RowSource(
            rows["test"],
            lambda: rows["train"],
            make=_example,
            key=lambda row: text_key(_example(row)),
            facts=lambda: SourceFacts(digests(folder, (version.file,)), tuple(version.notes)),
            problems=version.problems,
            place=f"the test part of {folder / version.file}",
        )

    def chain(self, compat: Compat) -> tuple[str, ...]:
        """First line; the reference takes all marks off, `fixed` only the answer's marker."""
        first = "take_first_non_empty_line"
        if compat == "reference":
            marks = ("remove_punctuations", "remove_articles", "fix_whitespace")
            return (first, "lower_case", *marks)
        return (first, "strip_answer_marker")

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt's pieces; of all answer formats only the asked example's is shown."""
        inputs = example.inputs
        return PromptParts(
            INSTRUCTION.format(answer_formatter=inputs["answer_formatter"]),
            f"Table: {render_field(inputs['table'], render)} \nQuestion: {inputs['question']}",
            "Final Answer: ",
        )


DATASETS = (
    TableBench("tablebench_da", "DataAnalysis"),
    TableBench("tablebench_fc", "FactChecking"),
    TableBench("tablebench_nr", "NumericalReasoning"),
)
