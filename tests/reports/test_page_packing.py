"""The texts of cases in the page: each once, and truncated over a limit."""

from __future__ import annotations

import hashlib
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tablebench.reports.html import _details, _texts
from pytest_tablebench.reports.html._details import _detail, excerpt
from pytest_tablebench.results.folder import read_places
from tests.support.page_files import block, page, text_of
from tests.support.page_runs import make_records, record, write_run


def test_texts_shared_by_cases_are_stored_once(tmp_path: Path) -> None:
    records = list(make_records(["wikitq"], 2, formats=("csv", "html"), changes=("none",)))
    index = block(soup := page(tmp_path, records), "index")
    assert index["count"] == 4
    assert index["columns"]["table"] == [0, 0, 1, 1]
    assert len(block(soup, "t0")) == 2
    # Four prompts, in the blocks of right answers and of other answers.
    places = index["columns"]["prompt"]
    assert len(set(places)) == 4
    size = index["sizes"]["prompts"]
    assert all(block(soup, f"q{place // size}")[place % size] for place in places)


def test_a_case_has_reply_prediction_reference_parts_and_prompt(tmp_path: Path) -> None:
    [case] = make_records(["wikitq"], 1, formats=("csv",), changes=("none",))
    soup = page(tmp_path, [case])
    index, [detail] = block(soup, "index"), block(soup, "d0")
    assert (detail["id"], detail["reply"]) == (case.case_id, case.raw)
    assert detail["prediction"] == case.prediction
    assert detail["references"] == list(case.references)
    assert detail["parts"] == dict(case.parts)
    prompt = block(soup, "q0")[index["columns"]["prompt"][0]]["text"]
    assert prompt.startswith("Answer the question.")
    assert prompt.endswith(index["examples"][0]["question"])


def test_a_long_answer_is_truncated_and_its_file_named(tmp_path: Path) -> None:
    soup = page(tmp_path, [record(raw="x" * 5_000_000, prediction="y" * 5_000_000)])
    [detail] = block(soup, "d0")
    assert len(detail["reply"]) == len(detail["prediction"]) == 20_000
    assert detail["reply_length"] == detail["prediction_length"] == 5_000_000
    assert "records.jsonl" in text_of(soup, ".about")
    assert (tmp_path / "report.html").stat().st_size < 400_000


def test_replies_are_truncated_further_if_their_sum_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_details, "DETAIL_BUDGET", 30_000)
    noise = [
        "".join(hashlib.sha512(f"{n}/{i}".encode()).hexdigest() for i in range(60))
        for n in range(8)
    ]
    soup = page(tmp_path, [record(example_id=str(n), raw=noise[n]) for n in range(8)])
    index, details = block(soup, "index"), block(soup, "d0")
    assert index["limit"] < 7680
    assert {len(detail["reply"]) for detail in details} == {index["limit"]}
    assert {detail["reply_length"] for detail in details} == {7680}


def test_prompts_of_right_answers_are_left_out_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_texts, "_RIGHT_PROMPT_BUDGET", 10)
    records = list(make_records(["wikitq"], 6, formats=("csv", "df"), changes=("none",)))
    assert {case.outcome for case in records} >= {"right", "wrong"}
    soup = page(tmp_path, records)
    columns = block(soup, "index")["columns"]
    for outcome, place in zip(columns["outcome"], columns["prompt"], strict=True):
        assert (place == -1) == (outcome == 0)
    assert "prompts did not fit" in text_of(soup, ".about")
    assert "texts.jsonl.gz" in text_of(soup, ".about")


def test_an_example_right_in_some_configurations_only_is_marked(tmp_path: Path) -> None:
    records = [
        record(example_id="mixed", serializer="csv"),
        record(example_id="mixed", serializer="html", outcome="wrong"),
        record(example_id="plain", serializer="csv"),
        record(example_id="plain", serializer="html", outcome="no_answer"),
    ]
    assert block(page(tmp_path, records), "index")["columns"]["marks"] == [1, 1, 0, 0]


def test_long_replies_are_not_kept_in_memory(tmp_path: Path) -> None:
    long = "a reply of many words " * 50_000  # 1.1 million characters
    records = [replace(made, raw=long, prediction=long) for made in make_records(["d"], 1)]
    write_run(tmp_path / "run", records)
    del records
    tracemalloc.start()
    kept = [record for _, record in read_places(tmp_path / "run", keep=excerpt)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(kept) > 10
    assert peak < 15_000_000  # one line and its parsed record
    detail = _detail(kept[0], None, 500)
    assert (detail["reply"], detail["reply_length"]) == (long[:500], len(long))
    assert (detail["prediction"], detail["prediction_length"]) == (long[:500], len(long))
