"""Groups of failed cases in the terminal: wrong answers by example, missing answers by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.documents.formats import aligned
from pytest_tablebench.util.names import counted, shortened

if TYPE_CHECKING:
    from pytest_tablebench.results import ScoreRow

FEW = 10
"""The number of failed cases up to which each is shown in full."""

GROUPS = 10
"""Examples that are shown, the most often wrong ones first."""

TEXTS = 5
"""Different texts of one reason that are shown."""

CUT = 24
"""Characters of an expected or given answer."""


def shown_count(failed: int, show: int | None) -> int:
    """Return how many failed cases are shown in full; 0 if there are many, which are grouped.

    Arguments:
        failed: cases with a wrong answer, or without one.
        show: the value of `--bench-show`; None without that option.
    """
    if show is not None:
        return show
    return failed if failed <= FEW else 0


def grouped_lines(
    case_rows: Mapping[str, Mapping[str, ScoreRow]], reports: Iterable[Any]
) -> list[str]:
    """Return a line for each example with wrong answers, and for each reason without an answer.

    Datasets and texts of a reason have separate lines. Answers that failed only because they differ
    from their snapshot have lines of their own.

    Arguments:
        case_rows: the row of each case, by model and case id.
        reports: reports of failed tests; `tablebench_case` is model and case id.
    """
    wrong: dict[tuple[str, str, str], list[Any]] = {}
    changed: dict[tuple[str, str, str], list[Any]] = {}
    unanswered: dict[tuple[str, str], list[Any]] = {}
    for report in reports:
        model, case_id = report.tablebench_case
        row = case_rows.get(model, {}).get(case_id)
        if row is None:
            continue
        if row.score is None:
            unanswered.setdefault((row.dataset, row.reason or ""), []).append(report)
        else:
            groups = changed if change_of(report) else wrong
            groups.setdefault((model, row.dataset, row.example_id), []).append(report)
    return [
        *_by_example(case_rows, wrong, "wrong", ("expected / got", _difference)),
        *_by_example(case_rows, changed, "changed", ("changed answers", change_of)),
        *_unanswered(unanswered),
    ]


def change_of(report: Any) -> str:
    """Return how an answer has changed that fails its test only for that; else an empty text."""
    return shortened(getattr(report, "tablebench_changed", ""), 120)


def _by_example(
    case_rows: Mapping[str, Mapping[str, ScoreRow]],
    groups: Mapping[tuple[str, str, str], list[Any]],
    word: str,
    column: tuple[str, Callable[[Any], str]],
) -> list[str]:
    times_asked = Counter(
        (model, row.dataset, row.example_id)
        for model, model_rows in case_rows.items()
        for row in model_rows.values()
    )
    has_several_models = len({model for model, *_ in groups}) > 1
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))  # stable: in order of the run
    title, text_of = column
    rows = [("", "", title)] if ordered else []
    for (model, dataset, example), reports in ordered[:GROUPS]:
        name = "/".join(
            shortened(name_part, 30)
            for name_part in (model, dataset, example)[not has_several_models :]
        )
        times = f"{word} in {len(reports)} of {times_asked[model, dataset, example]}"
        rows.append((name, times, text_of(reports[0])))
    lines = aligned(rows, left=(0, 1, 2))
    if len(ordered) > GROUPS:
        lines.append(
            f"and {counted(len(ordered) - GROUPS, 'more example')}; all are on the page and in "
            f"records.jsonl"
        )
    return lines


def _difference(report: Any) -> str:
    """Return expected and given answer, from the three lines on a wrong answer."""
    values = dict(
        line.partition(": ")[::2] for line in str(report.longrepr).splitlines() if ": " in line
    )
    if "expected" not in values or "got" not in values:
        return ""
    expected = shortened(values["expected"].strip(), CUT)
    got = shortened(values["got"].rpartition("  (score")[0].strip() or values["got"].strip(), CUT)
    return f"{expected} / {got}"


def _unanswered(groups: Mapping[tuple[str, str], list[Any]]) -> list[str]:
    """Return a line for each dataset, reason and text; the most frequent texts are first."""
    lines = []
    for (dataset, reason), reports in groups.items():
        whole_texts = (str(report.longrepr) for report in reports)
        # After the reason, as in `no answer (timeout): after 120 s`.
        texts = Counter(text.partition("): ")[2] or text for text in whole_texts)
        top = texts.most_common(TEXTS)
        named = f"{shortened(dataset, 30)} without an answer ({shortened(reason, 40)})"
        lines += [
            f"{counted(count, 'case')} of {named}: {shortened(text, 300)}" for text, count in top
        ]
        if rest := len(reports) - sum(count for _, count in top):
            lines.append(
                f"{counted(rest, 'more case')} of {named}, "
                f"{counted(len(texts) - TEXTS, 'other text')}"
            )
    return lines
