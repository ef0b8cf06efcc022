"""The page packed during the run equals the page made of the run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.reports.html import PageAhead, _ahead, write_page
from pytest_tablebench.reports.html._details import DETAILS
from pytest_tablebench.results import Record
from pytest_tablebench.results.message import CaseMessage, Finding, MadeRecord
from pytest_tablebench.results.run import Run, load_run
from pytest_tablebench.results.texts import TEXTS, ExampleText, example_key, read_texts
from tests.support.page_runs import make_records, record, write_run

FINDING = Finding("test_it[1]", "test_it", passed=True)


def message(case: Record, texts: Mapping[str, Any]) -> CaseMessage:
    """Return the message of a case, with the texts that the run folder has of it."""
    prompt = texts.get(case.prompt_digest or "")
    example = texts.get(example_key(case.dataset, case.example_id, case.perturbation))
    return CaseMessage(
        case.case_id,
        case.model,
        case.repeat,
        FINDING,
        MadeRecord(case, ()),
        prompt=None if prompt is None else (prompt.digest, prompt.text),
        example=None if example is None else (example.id, example.question, example.tables),
    )


def packed(records: Sequence[Record], run: Path, folder: Path) -> PageAhead:
    ahead = PageAhead(folder)
    texts = {
        text.id if isinstance(text, ExampleText) else text.digest: text
        for text in read_texts(run / TEXTS)
    }
    for case in records:
        case_message = message(case, texts)
        ahead.add(case_message, case_message.record)
    return ahead


def pages(run: Run, ahead: PageAhead, folder: Path) -> tuple[str, str]:
    """Return the page with and without what was packed ahead."""
    write_page(run, folder / "ahead.html", ahead=ahead)
    write_page(load_run(run.path), folder / "folder.html")
    with_ahead, without = (folder / f"{name}.html" for name in ("ahead", "folder"))
    return with_ahead.read_text(encoding="utf-8"), without.read_text(encoding="utf-8")


def test_the_page_is_the_same(tmp_path: Path) -> None:
    records = list(make_records(["wikitq", "finqa"], 20, formats=("csv", "html", "json")))
    assert len(records) > DETAILS
    folder = write_run(tmp_path / "run", records)
    run = load_run(folder)
    ahead = packed(records, folder, tmp_path)
    assert ahead.is_whole(len(records))
    run.__dict__["records"] = ()  # not read
    run.written_table = load_run(folder).table
    first, second = pages(run, ahead, tmp_path)
    # Prompts are in the file's order there, and in the order of the cases here.
    assert len(first) == pytest.approx(len(second), rel=0.01)
    assert first.partition('id="b-')[0] == second.partition('id="b-')[0]


@pytest.mark.parametrize(
    "records",
    [
        [record(), record(score=0.5)],
        [record(example_id=f"e{n}", raw="x" * 20_000) for n in range(3)],
    ],
    ids=["a case recorded twice", "replies that do not fit in memory"],
)
def test_a_run_that_cannot_be_packed_ahead_is_read_again(
    records: list[Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ahead, "MOST_CHARACTERS", 50_000)
    kept = {case.case_id: case for case in records}.values()
    folder = write_run(tmp_path / "run", list(kept))
    ahead = packed(records, folder, tmp_path)
    assert not ahead.is_whole(len(kept))
    first, second = pages(load_run(folder), ahead, tmp_path)
    assert first == second


def test_texts_of_an_earlier_run_are_not_lost(tmp_path: Path) -> None:
    records = [record()]
    folder = write_run(tmp_path / "run", records)
    assert not packed(records, folder, folder).is_whole(1)


def test_what_the_file_cannot_contain_is_packed_as_the_file_has_it(tmp_path: Path) -> None:
    case = replace(record(), prediction={"a": (1, 2)}, parts={"f1": 0.25})
    ahead = PageAhead(tmp_path)
    tables = [{"header": ["When"], "rows": [[Path("a/b")]]}]
    sent = CaseMessage(
        case.case_id,
        case.model,
        1,
        FINDING,
        MadeRecord(case, ()),
        example=("wikitq/e1/none", "When?", tables),
    )
    ahead.add(sent, sent.record)
    assert ahead.records[0].prediction == {"a": [1, 2]}
    assert ahead.texts.questions == {("wikitq", "e1"): "When?"}
