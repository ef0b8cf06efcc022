"""What people see of a case that they label: question, tables, references and reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.judged_cases import judged_cases, unclear_cases
from pytest_tablebench.results.record import case_key
from pytest_tablebench.results.texts import TEXTS, example_key, read_examples

if TYPE_CHECKING:
    from pytest_tablebench.results.run import Run


LabelScale = Literal["marks", "right_wrong"]
"""`marks`: whole marks from 0 to 10. `right_wrong`: two choices."""


@dataclass(frozen=True)
class LabelCase:
    """One answer to label, with everything that a person needs.

    Args:
        case_id: as in the run's records.
        tables: as in `ExampleText`: mappings with `title`, `header` and `rows`.
        references: the expected answers.
        reply: what the judge received.
        judge_mark: the judge's mark from 0 to 1, which a blind page hides; None without one.
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


def label_cases(run: Run, case_ids: Iterable[str]) -> list[LabelCase]:
    """Return what a page for labels shows of some judged cases, in their order.

    Question and tables are empty if the run did not keep its texts. Raises `SettingsError` for a
    case that the run does not have or that no judge marked.
    """
    records = {case_key(record): record for record in run.records}
    cases = [*unclear_cases(run.records), *judged_cases(run.records)]
    judged = {case.case_id: case for case in cases}
    names = list(case_ids)
    unknown = next((name for name in names if name not in judged), None)
    if unknown is not None:
        raise SettingsError(f"the run has no judged case {unknown!r}")
    keys = {
        name: example_key(
            records[name].dataset, records[name].example_id, records[name].perturbation
        )
        for name in names
    }
    needed = set(keys.values())
    texts = {text.id: text for text in read_examples(run.path / TEXTS) if text.id in needed}
    graded = {case.dataset for case in judged.values() if case.mark not in {0.0, 1.0}}
    shown = []
    for name in names:
        text, record = texts.get(keys[name]), records[name]
        shown.append(
            LabelCase(
                name,
                record.dataset,
                "" if text is None else text.question,
                () if text is None else text.tables,
                tuple(map(str, record.references)),
                record.raw or "",
                judged[name].mark,
                "marks" if records[name].dataset in graded else "right_wrong",
            )
        )
    return shown
