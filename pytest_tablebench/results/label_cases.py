"""What people see of a case that they label: question, tables, references and reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.judged_cases import judged_cases
from pytest_tablebench.results.record import case_key
from pytest_tablebench.results.texts import TEXTS, example_key, read_examples
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.results.loaded_run import LoadedRun


@dataclass(frozen=True)
class LabelCase:
    """One answer to label.

    Args:
        tables: as in `ExampleText`: mappings with `title`, `header` and `rows`.
        references: the expected answers.
        mark: the judge's mark from 0 to 1, which a blind page hides.
    """

    case_id: str
    dataset: str
    question: str
    tables: tuple[Mapping[str, Any], ...]
    references: tuple[str, ...]
    reply: str
    mark: float


def label_cases(run: LoadedRun, case_ids: Iterable[str]) -> list[LabelCase]:
    """Return what a page for labels shows of some judged cases, in their order.

    Question and tables are empty if the run did not keep its texts. Raises `SettingsError` for a
    case that the run does not have or that no judge marked.
    """
    records = {case_key(record): record for record in run.records}
    judged = {case.case_id: case for case in judged_cases(run.records)}
    names = list(case_ids)
    unknown = next((name for name in names if name not in judged), None)
    if unknown is not None:
        raise SettingsError(f"the run has no judged case {printable(unknown, 200)!r}")
    keys = {
        name: example_key(
            records[name].dataset, records[name].example_id, records[name].perturbation
        )
        for name in names
    }
    needed = set(keys.values())
    texts = {text.id: text for text in read_examples(run.path / TEXTS) if text.id in needed}
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
            )
        )
    return shown
