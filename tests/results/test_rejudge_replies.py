"""Runs judged again from their replies: chain, metric and compat mode anew."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.datasets import Dataset, Example, PromptParts, Source, SourceFacts
from pytest_tablebench.errors import DataError, DataMissing, SettingsError
from pytest_tablebench.metrics import METRICS, POSTPROCESSORS, Score
from pytest_tablebench.registry import Registry
from pytest_tablebench.results import read_records
from pytest_tablebench.running.rejudge import rejudge
from tests.support import upstream
from tests.support.run_folders import GRID, record, write_run


class Toy(Dataset, Source):
    """A dataset whose references and chain depend only on the compat mode."""

    name = folder = "toy"
    benchmark = "toys"
    metric = "halves"

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.loaded: list[str] = []

    def open(self, folder, *, compat="fixed", **options):
        self.opened.append(compat)
        return self

    problems = ()
    facts = SourceFacts({"toy.json": "0" * 64})

    def example_ids(self, limit):
        return ["e1", "e2"]

    def example(self, example_id):
        self.loaded.append(example_id)
        if example_id not in ("e1", "e2", "e3"):
            raise DataError(f"no example {example_id!r}")
        answer = "Ja" if example_id == "e3" else "Yes"
        return Example(example_id, {}, "?", (answer,), answer, {"bonus": 0.25})

    def chain(self, compat):
        return ("to_string_stripped",) if compat == "reference" else ()

    def prompt(self, example, render):
        return PromptParts("", "")


def halves(prediction, references, *, compat, bonus=0.0, **_):
    """Score `Yes` as right, in the mode `reference` also `yes`; `bonus` is a part."""
    texts = [prediction, *references]
    loose = len({text.lower() for text in texts}) == 1
    same = float(loose if compat == "reference" else len(set(texts)) == 1)
    parts = {"half": same / 2, "same": same, "loose": float(loose), "plus": bonus}
    return Score(same / 2, parts, "half")


def needs(prediction, references, *, compat, bonus=0.0, **_):
    """A second metric, whose score is the example's context."""
    return Score(bonus, {})


@pytest.fixture
def toy():
    dataset = Toy()
    registry = Registry(
        datasets={"toy": dataset},
        metrics={**METRICS, "halves": halves, "needs": needs},
        postprocessors=dict(POSTPROCESSORS),
    )
    return dataset, registry


def scored(example, configuration, text, value, **fields):
    """Return the record of a suite whose main part is `same`, in the mode `fixed`."""
    serializer, perturbation = configuration
    loose = float(text.strip().lower() == "yes")
    parts = {"half": value / 2, "same": value, "loose": loose, "plus": 0.25}
    judged: dict[str, Any] = {"metric": "halves", "part": "same", "threshold": 1.0, "parts": parts}
    judged |= {"prediction": text, "references": ("Yes",)}
    return record(example, serializer, perturbation, (value, text), **(judged | fields))


def test_replies_are_scored_by_the_whole_chain(tmp_path, toy):
    cases = [
        scored("e1", GRID[0], "Yes", 1.0),
        scored("e1", GRID[1], " yes ", 0.0),
        scored("e2", GRID[0], "no", 0.0),
    ]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="reference", registry=toy[1])
    assert [case.score for case in rejudged.run.records] == [1.0, 1.0, 0.0]
    assert [case.outcome for case in rejudged.run.records] == ["right", "right", "wrong"]
    assert [case.prediction for case in rejudged.run.records] == ["Yes", "yes", "no"]
    assert rejudged.run.records[1].parts == {"half": 0.5, "same": 1.0, "loose": 1.0, "plus": 0.25}
    assert (rejudged.scored, rejudged.rescored, rejudged.better, rejudged.worse) == (3, 1, 1, 0)
    assert rejudged.run.facts.entries["compat"] == "reference"
    assert rejudged.run.facts.entries["rejudged"]["compat"] == "fixed"
    assert rejudged.notes == (
        "compat reference judges replies to prompts that were made in compat fixed",
    )


def test_thoughts_in_replies_of_earlier_versions_are_removed(tmp_path, toy):
    cases = [
        scored("e1", GRID[0], "<think>no</think>Yes", 0.0),
        scored("e1", GRID[1], "<think>no", 0.0, flags=("truncated",)),
        scored("e1", GRID[2], "", 0.0, flags=("truncated", "other")),
        scored("e1", GRID[3], "No, but", 0.0, flags=("truncated",)),
    ]
    fixed = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [(case.outcome, case.score, case.reason) for case in fixed.run.records] == [
        ("right", 1.0, None),
        ("no_answer", None, "cut_off"),
        ("no_answer", None, "cut_off"),
        ("wrong", 0.0, None),
    ]
    assert [tuple(case.flags) for case in fixed.run.records] == [(), (), ("other",), ("truncated",)]
    assert [case.raw for case in fixed.run.records] == [case.raw for case in cases]
    whole = summary_of(fixed.run)["benchmarks"]["toys"]["datasets"]["toy"]
    assert (whole["cut_off"], whole["truncated"]) == (0.5, 0.25)
    back = rejudge(
        write_run(tmp_path / "b", fixed.run.records), compat="reference", registry=toy[1]
    )
    assert [(case.outcome, case.score, case.threshold) for case in back.run.records] == [
        ("wrong", 0.0, 1.0)
    ] + [("wrong", 0.0, 1.0)] * 3
    assert tuple(back.run.records[1].flags) == ("truncated",)
    assert back.run.records[1].metric == "halves"


def test_the_recorded_part_is_the_score_again(tmp_path, toy):
    # The metric's main part is `half`; the records name `same`.
    cases = [scored("e1", GRID[0], "Yes", 1.0), scored("e1", GRID[1], "yes", 0.0)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [(case.score, case.part) for case in rejudged.run.records] == [
        (1.0, "same"),
        (0.0, "same"),
    ]
    main = [
        scored("e1", GRID[0], "Yes", 1.0, score=0.5, part="half", threshold=0.5),
        scored("e1", GRID[1], "yes", 0.0, part="half", threshold=0.5),
    ]
    rejudged = rejudge(write_run(tmp_path / "b", main), compat="reference", registry=toy[1])
    assert [(case.score, case.part) for case in rejudged.run.records] == [
        (0.5, "half"),
        (0.5, "half"),
    ]


def test_the_recorded_part_counts_even_if_all_parts_are_equal(tmp_path, toy):
    # All parts are equal: only the record says that `loose` is the score.
    parts = {"half": 0.0, "same": 0.0, "loose": 0.0, "plus": 0.0}
    cases = [scored("e1", GRID[0], "yes", 0.0, part="loose", parts=parts)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [(case.score, case.passed) for case in rejudged.run.records] == [(1.0, True)]


def test_without_a_recorded_part_the_main_part_is_the_score(tmp_path, toy):
    cases = [scored("e1", GRID[0], "Yes", 1.0, part=None)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [(case.score, case.part) for case in rejudged.run.records] == [(0.5, "half")]


def test_each_record_keeps_the_threshold_it_was_judged_by(tmp_path, toy):
    low = {"part": "half", "score": 0.5, "threshold": 0.5}
    cases = [
        scored("e1", GRID[0], "Yes", 1.0, **low),
        scored("e1", GRID[1], "Yes", 1.0, **low | {"threshold": 0.75}),
    ]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [(case.passed, case.threshold) for case in rejudged.run.records] == [
        (True, 0.5),
        (False, 0.75),
    ]
    again = rejudge(tmp_path / "a", compat="fixed", thresholds={"toy": 0.25}, registry=toy[1])
    assert [(case.passed, case.threshold) for case in again.run.records] == [(True, 0.25)] * 2


def test_the_same_reply_to_another_question_is_judged_anew(tmp_path, toy):
    cases = [scored("e1", GRID[0], "Yes", 1.0), scored("e3", GRID[0], "Yes", 0.0)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [case.score for case in rejudged.run.records] == [1.0, 0.0]
    assert [case.references for case in rejudged.run.records] == [("Yes",), ("Ja",)]


def test_examples_are_read_in_the_new_compat_mode(tmp_path, toy):
    run = write_run(tmp_path / "a", [scored("e1", GRID[0], "Yes", 1.0)])
    rejudge(run, compat="reference", registry=toy[1])
    # First for the digests of the run's files, then for the examples.
    assert toy[0].opened == ["fixed", "reference"]


def test_a_recorded_metric_other_than_the_datasets_is_used_again(tmp_path, toy):
    named = {"metric": "exact_match", "parts": {"exact_match": 1.0}}
    cases = [scored("e1", GRID[0], "yes ", 0.0, **named)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    [case] = rejudged.run.records
    # exact_match strips whitespace.
    assert (case.score, case.metric, case.passed) == (1.0, "exact_match", True)
    assert case.part == "exact_match"
    assert set(case.parts) == {"exact_match", "partial"}


def test_a_recorded_metric_gets_the_context_of_the_example(tmp_path, toy):
    cases = [scored("e1", GRID[0], "Yes", 0.0, metric="needs", parts={})]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [case.score for case in rejudged.run.records] == [0.25]


def test_records_without_an_answer_or_of_an_assertion_are_kept(tmp_path, toy):
    cases = [
        record("e1", *GRID[0], None),
        record("e1", *GRID[1], (0.0, "Yes"), metric="assertion", parts={}),
        scored("e1", GRID[2], "Yes", 1.0),
    ]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="reference", registry=toy[1])
    assert list(rejudged.run.records[:2]) == list(read_records(tmp_path / "a"))[:2]
    assert rejudged.scored == 1


def test_each_example_is_loaded_once_and_records_keep_their_order(tmp_path, toy):
    cases = [scored(name, place, "Yes", 1.0) for place in GRID for name in ("e2", "e1")]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [case.case_id for case in rejudged.run.records] == [case.case_id for case in cases]
    assert toy[0].opened == ["fixed"]
    assert toy[0].loaded == ["e1", "e2"]


def test_data_that_differs_is_refused_and_the_file_is_named(tmp_path, toy):
    facts = {"toy": {"files": {"toy.json": "f" * 64}}}
    run = write_run(tmp_path / "a", [scored("e1", GRID[0], "Yes", 1.0)], datasets=facts)
    with pytest.raises(
        DataError, match=r"toy: toy\.json in .* is not the file that the run used.*--bench-data"
    ):
        rejudge(run, compat="fixed", registry=toy[1])


def test_a_run_that_does_not_list_its_data_files_is_refused(tmp_path, toy):
    run = write_run(tmp_path / "a", [scored("e1", GRID[0], "Yes", 1.0)], datasets={})
    with pytest.raises(SettingsError, match="does not list the files of toy that the run used"):
        rejudge(run, compat="fixed", registry=toy[1])


def test_a_missing_example_is_named(tmp_path, toy):
    run = write_run(tmp_path / "a", [scored("e9", GRID[0], "Yes", 1.0)])
    with pytest.raises(DataError, match="e9"):
        rejudge(run, compat="fixed", registry=toy[1])


def test_a_markers_threshold_must_be_passed_for_schema_1(tmp_path, toy):
    # 0 passed, so a marker's threshold was lower than the dataset's. Schema 1 did not record it.
    verdict = {"passed": True, "outcome": "right", "threshold": None}
    case = scored("e1", GRID[0], "no", 0.0, **verdict)
    run = write_run(tmp_path / "a", [case])
    with pytest.raises(
        SettingsError, match=r"not judged by the threshold 1 .*--bench-threshold=toy=X"
    ):
        rejudge(run, compat="fixed", registry=toy[1])
    rejudged = rejudge(run, compat="fixed", thresholds={"toy": 0.0}, registry=toy[1])
    assert rejudged.run.records[0].passed
    stored = write_run(tmp_path / "b", [case], thresholds={"toy": 0.0})
    assert rejudge(stored, compat="fixed", registry=toy[1]).run.records[0].passed


def test_an_unknown_dataset_cannot_be_scored_again(tmp_path, toy):
    run = write_run(tmp_path / "a", [record("e", *GRID[0], 1, dataset="other")])
    with pytest.raises(SettingsError, match="dataset 'other' is neither built in nor"):
        rejudge(run, compat="fixed", registry=toy[1])


# Over upstream files


def tabfact_run(tmp_path: Path, replies: dict[str, str], **facts) -> Path:
    """Write a run in the mode `fixed` over made-up files, scored by hand."""
    data = upstream.tabfact(tmp_path / "data/tabfact")
    files = {
        f"tokenized_data/{name}_examples.json": hashlib.sha256(
            (data / f"tokenized_data/{name}_examples.json").read_bytes()
        ).hexdigest()
        for name in ("test", "train")
    }
    cases = [
        record(
            example,
            *GRID[0],
            (1.0, text),
            dataset="tabfact",
            benchmark="torr",
            metric="tab_fact",
            parts={"accuracy": 1.0, "f1_micro": 1.0},
        )
        for example, text in replies.items()
    ]
    facts = {"data": str(tmp_path / "data"), "datasets": {"tabfact": {"files": files}}} | facts
    return write_run(tmp_path / "a", cases, **facts)


def ids(tmp_path):
    from pytest_tablebench.datasets.torr.wikipedia import TabFact

    return list(TabFact().open(tmp_path / "data/tabfact").example_ids(None))


def test_the_mode_reference_is_strict_about_the_full_stop(tmp_path):
    upstream.tabfact(tmp_path / "data/tabfact")
    first, second, third = ids(tmp_path)  # entailed, refuted, entailed
    # Only `fixed` strips the space before the full stop (spec: torr.md).
    replies = {first: "Entailed .", second: "refuted", third: "Entailed. It has 3."}
    run = tabfact_run(tmp_path, replies)
    rejudged = rejudge(run, compat="reference")
    assert [case.passed for case in rejudged.run.records] == [False, True, True]
    assert [case.passed for case in rejudge(run, compat="fixed").run.records] == [True] * 3
    assert rejudged.run.records[0].references == ("entailed",)


def test_moved_data_is_read_from_the_folder_passed(tmp_path):
    upstream.tabfact(tmp_path / "data/tabfact")
    run = tabfact_run(tmp_path, {ids(tmp_path)[0]: "entailed"})
    (tmp_path / "data").rename(tmp_path / "moved")
    with pytest.raises(DataMissing, match="tablebench pull tabfact"):
        rejudge(run, compat="fixed")
    assert rejudge(run, compat="fixed", data=tmp_path / "moved").scored == 1


def test_a_changed_byte_in_the_data_is_noticed(tmp_path):
    upstream.tabfact(tmp_path / "data/tabfact")
    run = tabfact_run(tmp_path, {ids(tmp_path)[0]: "entailed"})
    path = tmp_path / "data/tabfact/tokenized_data/test_examples.json"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(
        DataError, match=r"tokenized_data/test_examples\.json .* is not the file that the run used"
    ):
        rejudge(run, compat="fixed")
    # Thresholds need no data.
    assert rejudge(run, thresholds={"tabfact": 0.5}).run.records[0].passed


def test_an_unknown_compat_mode_is_refused(tmp_path):
    upstream.tabfact(tmp_path / "data/tabfact")
    run = tabfact_run(tmp_path, {ids(tmp_path)[0]: "entailed"}, compat="later")
    with pytest.raises(SettingsError, match="unknown compat mode 'later'"):
        rejudge(run, compat="fixed")
