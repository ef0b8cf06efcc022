"""TableBench's figures by the type of question (spec: tablebench.md, Which metric counts)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_tablebench.metrics._tablebench import counting_part, item_parts

_CHARTS, _ANALYSIS = "Visualization", "DataAnalysis"
_NAMES = {
    "em": "EM",
    "em_with_error_2": "EM_with_error_2",
    "em_with_error_5": "EM_with_error_5",
    "em_with_error_10": "EM_with_error_10",
    "rouge_l": "ROUGE-L",
}


@dataclass(frozen=True)
class Row:
    """A question and what was read of its reply.

    Arguments:
        qtype: its type; `Visualization` asks for a chart.
        qsubtype: its kind within the type.
        answer: the expected answer.
        parsed: the answer in the reply; of a chart whether it is right. No text where there
            was nothing to read.
    """

    qtype: str
    qsubtype: str
    answer: str
    parsed: str | bool


def published_figures(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return the figures by type that the reference implementation prints, rounded as it does.

    Charts enter the overall figure as 0 to 1, all else as 0 to 100. Of ROUGE-L it is the mean;
    the reference implementation takes the middle of a random bootstrap about it.
    """
    figures: dict[str, dict[str, float]] = {}
    total = 0.0
    for qtype in dict.fromkeys(row.qtype for row in rows):
        group = [row for row in rows if row.qtype == qtype]
        if qtype == _CHARTS:
            right = _mean(row.parsed is True for row in group)
            executed = _mean(row.parsed != "" for row in group)
            shares = {"ECR@1": 100 * executed, "Pass@1": 100 * right}
            total += len(group) * right
        else:
            parts = [_parts(row) for row in group]
            counted = 100 * _mean(
                part[counting_part(row.qtype, row.qsubtype)]
                for part, row in zip(parts, group, strict=True)
            )
            shares = {
                name: 100 * _mean(part[key] for part in parts) for key, name in _NAMES.items()
            }
            if qtype == _ANALYSIS:
                shares["Mix_Metric"] = counted
            shares["Parse@1"] = 100 * _mean(row.parsed != "" for row in group)
            total += len(group) * counted
        figures[qtype] = {name: round(value, 2) for name, value in shares.items()}
        figures[qtype]["total"] = len(group)
    if rows:
        parsed = 100 * _mean(row.parsed != "" for row in rows)
        figures["Overall"] = {
            "Mix_Metric": round(total / len(rows), 2),
            "Parse@1": round(parsed, 2),
        }
    return figures


def _parts(row: Row) -> dict[str, float]:
    return item_parts(row.answer, str(row.parsed), compat="reference")


def overall(rows: Sequence[Row]) -> float:
    """Return the mean over rows of what counts for each, 0 to 100, charts as all else."""
    return 100 * _mean(map(_counted, rows))


def _counted(row: Row) -> float:
    if row.qtype == _CHARTS:
        return float(row.parsed is True)
    parts = item_parts(row.answer, str(row.parsed), compat="fixed")
    return parts[counting_part(row.qtype, row.qsubtype)]


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0
