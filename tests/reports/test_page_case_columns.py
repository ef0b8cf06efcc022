"""The columns of cases in the page: parts, node ids, and the command that asks a case again."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from pytest_tablebench.datasets.case import cross
from pytest_tablebench.reports.html._pack import case_columns, pack, rerun_words, run_key
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import TEXTS, TextWriter, example_key, read_texts
from tests.support.page_runs import record

RUN = {
    "model": "m",
    "start": "2026-03-01T10:00:00+00:00",
    "compat": "fixed",
    "seed": 0,
    "limit": 20,
    "structure": "both",
    "repeats": 1,
    "params": {"temperature": 0.5, "max_tokens": 512, "stop": "it's"},
}


def test_columns_contain_numbers_or_null() -> None:
    first = record(latency_s=1.23456, prompt_tokens=7, cost_usd=0.5, parts={"em": 1.0, "x": "no"})
    second = record(latency_s=float("nan"), modality="image", parts={"em": None, "f1": 0.25})
    packed = case_columns([first, second])
    assert packed["names"] == {
        "strategy": ["direct"],
        "modality": ["image", "text"],
        "model": ["m"],
    }
    assert packed["parts"] == ["em", "f1"]
    columns = packed["columns"]
    assert (columns["modality"], columns["parts"]) == ([1, 0], [[1.0, None], [None, 0.25]])
    assert columns["answer_number"] == [0, 0]
    assert (columns["latency"], columns["prompt_tokens"], columns["cost"]) == (
        [1.235, None],
        [7, None],
        [0.5, None],
    )


def test_only_runs_with_corrections_have_corrected_columns() -> None:
    right = {"verdict": "wrong", "score": 0.75, "passed": True, "parts": {}}
    scored = {"verdict": "several", "score": 0.5, "passed": None, "parts": {}}
    left_out = {"verdict": "unclear", "left_out": "the question is unclear"}
    entries = [right, None, scored, left_out, {"verdict": "wrong"}]
    columns = case_columns([record(corrected=entry) for entry in entries])["columns"]
    assert columns["corrected"] == [0, -1, 3, 4, 2]
    assert columns["corrected_score"] == [0.75, None, 0.5, None, None]
    assert not any("corrected" in name for name in case_columns([record()])["columns"])


def test_answers_that_only_start_alike_are_different() -> None:
    texts = ["a" * 500, "a" * 500 + "b", "a" * 500, None]
    answers = [record(prediction=text) for text in texts]
    other = record(example_id="e2", prediction="a" * 500 + "b")
    assert case_columns([*answers, other])["columns"]["answer_number"] == [0, 1, 0, 2, 0]


def test_node_ids_equal_those_of_pytest_where_names_are_shortened() -> None:
    examples = [f"a rather long example, number {n}" for n in range(2)]
    axes = ["direct", "tcot"], ["text", "image"]
    cases, ids = cross(
        *("d", examples, ["indexed_row_major"], ["insert_empty_rows"], ["m"]),
        strategies=axes[0],
        modalities=axes[1],
    )
    records = [
        record(
            case_id=case.case_id,
            example_id=case.example_id,
            serializer=case.serializer,
            perturbation=case.perturbation,
            strategy=case.strategy,
            modality=case.modality,
        )
        for case in cases
    ]
    assert len(ids) == len(list(product(examples, *axes)))
    assert case_columns(records)["columns"]["node"] == ids
    single_mode = [replace(record, strategy="direct", modality="text") for record in records[:1]]
    assert "node" not in case_columns(single_mode)["columns"]  # it follows from the case id


def test_the_command_for_a_case_has_the_settings_of_the_run() -> None:
    assert sorted(rerun_words(RunFacts.from_json(RUN))) == [
        "--bench-limit=20",
        "--bench-param=stop=it's",
        "--bench-param=temperature=0.5",
    ]
    assert "--bench-compat=reference" in rerun_words(
        RunFacts.from_json({**RUN, "compat": "reference"})
    )
    assert (
        rerun_words(RunFacts.from_json({**RUN, "limit": None, "params": {"api_key": "***"}})) == []
    )


def test_notes_of_a_reader_belong_to_the_run_not_to_its_folder() -> None:
    assert run_key(RunFacts.from_json(RUN)) == run_key(
        RunFacts.from_json({**RUN, "status": "complete"})
    )
    assert run_key(RunFacts.from_json(RUN)) != run_key(
        RunFacts.from_json({**RUN, "start": "2026-03-01T11:00:00+00:00"})
    )


def test_the_page_lists_texts_that_it_contains_only_in_part(tmp_path: Path) -> None:
    wide: dict[str, Any] = {"title": None, "header": ["h"] * 61, "rows": []}
    small: dict[str, Any] = {"title": None, "header": ["h"], "rows": [["c"]] * 200}
    case, path = record(prompt_digest="p", transcript="t"), tmp_path / TEXTS
    for tables, prompt, turns, notes in (
        ([small], "p" * 60_000, 40, []),
        (
            [small, wide],
            "p" * 60_001,
            41,
            ["1 table is here in part", "2 prompts are here in part"],
        ),
    ):
        texts = TextWriter(path)
        texts.example(example_key("wikitq", "e1", "none"), "q", tables)
        texts.prompt("p", prompt)
        texts.transcript("t", [("reply", "r")] * turns)
        texts.close()
        packed = pack([case], read_texts(path), {}, {}, marks={})
        assert [note.partition(";")[0] for note in packed.notes] == notes
        path.unlink()


def test_the_command_for_a_case_names_the_folder_of_printed_prompts() -> None:
    run = {"prompts": "0123 (tcot)", "prompts_folder": "/papers/prompts"}
    assert rerun_words(RunFacts.from_json(run)) == ["--bench-prompts=/papers/prompts"]
    assert rerun_words(RunFacts.from_json({"prompts": None})) == []
