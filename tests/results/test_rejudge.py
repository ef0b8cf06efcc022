"""Runs judged again from their stored answers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.datasets import Dataset, Example, PromptParts, Source, SourceFacts
from pytest_tablebench.errors import DataError, DataMissing, SettingsError
from pytest_tablebench.metrics import METRICS, POSTPROCESSORS, Score
from pytest_tablebench.registry import Registry
from pytest_tablebench.results import read_records, read_run_json
from pytest_tablebench.running.rejudge import rejudge, write_rejudged
from tests.support import upstream
from tests.support.run_folders import GRID, record, write_run

# Thresholds over stored scores


SCORED: dict[str, list[float | None]] = {"e1": [1, 0.5, 0.25, 0], "e2": [0.5, 0.5, None, 1]}


def test_a_threshold_moves_verdicts_and_no_score(tmp_path):
    run = write_run(tmp_path / "a", SCORED)
    rejudged = rejudge(run, thresholds={"toy": 0.5})
    assert [case.outcome for case in rejudged.records] == [
        *("right", "right", "wrong", "wrong"),
        *("right", "right", "no_answer", "right"),
    ]
    assert [case.score for case in rejudged.records] == [1, 0.5, 0.25, 0, 0.5, 0.5, None, 1]
    assert (rejudged.better, rejudged.worse, rejudged.scored, rejudged.rescored) == (3, 0, 0, 0)
    # Two of four, and three of three answered.
    assert rejudged.summary["benchmarks"]["toys"]["pass_rate"] == 0.75
    assert rejudged.run["thresholds"] == {"toy": 0.5}


def test_a_lower_verdict_counts_as_worse(tmp_path):
    run = write_run(tmp_path / "a", [record("e1", *GRID[0], 0.5, passed=True, outcome="right")])
    rejudged = rejudge(run, thresholds={"toy": 0.6})
    assert (rejudged.better, rejudged.worse) == (0, 1)


def test_without_new_rules_nothing_changes(tmp_path):
    run = write_run(tmp_path / "a", SCORED)
    rejudged = rejudge(run)
    assert list(rejudged.records) == list(read_records(run))
    assert rejudged.notes == ()
    assert rejudged.run["compat"] == "fixed"
    assert "thresholds" not in rejudged.run


def test_only_the_named_dataset_is_judged_again(tmp_path):
    cases = [record("e", *GRID[0], 0.5, dataset=name) for name in ("one", "two")]
    rejudged = rejudge(write_run(tmp_path / "a", cases), thresholds={"two": 0.5})
    assert [case.passed for case in rejudged.records] == [False, True]


def test_a_tests_own_assertion_keeps_its_verdict(tmp_path):
    cases = [record("e", *GRID[0], 0.0, metric="assertion"), record("e", *GRID[1], 0.0)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), thresholds={"toy": 0})
    assert [case.passed for case in rejudged.records] == [False, True]
    assert rejudged.notes == ("1 case keeps its verdict: it comes from a test's own assertion",)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 1))
def test_passed_is_reaching_the_threshold(tmp_path_factory, scores, limit):
    cases = [record(f"e{n}", *GRID[0], score) for n, score in enumerate(scores)]
    run = write_run(tmp_path_factory.mktemp("run") / "a", cases)
    rejudged = rejudge(run, thresholds={"toy": limit})
    assert [case.passed for case in rejudged.records] == [score >= limit for score in scores]
    assert [case.outcome == "right" for case in rejudged.records] == [s >= limit for s in scores]


def test_a_run_cut_off_is_judged_and_said_so(tmp_path):
    rejudged = rejudge(write_run(tmp_path / "a", SCORED, cases_planned=20, ended="interrupted"))
    assert rejudged.notes == ("the run was interrupted: 8 of 20 cases are recorded",)
    assert rejudged.ended == "interrupted"
    killed = rejudge(write_run(tmp_path / "b", SCORED, cases_planned=20, status="running"))
    assert (killed.notes, killed.ended) == (
        ("the run was interrupted: 8 of 20 cases are recorded",),
        "it was killed",
    )


def test_cases_that_were_skipped_are_no_end_of_the_run(tmp_path):
    rejudged = rejudge(write_run(tmp_path / "a", SCORED, cases_planned=20, status="incomplete"))
    assert (rejudged.notes, rejudged.ended) == (("8 of 20 cases are recorded",), None)


def test_the_origin_is_named(tmp_path):
    run = write_run(tmp_path / "a", SCORED, thresholds={"other": 0.1})
    rejudged = rejudge(run, thresholds={"toy": 0.5})
    assert rejudged.run["rejudged"]["origin"] == str(run)
    assert rejudged.run["rejudged"]["thresholds"] == {"other": 0.1}
    assert rejudged.run["thresholds"] == {"other": 0.1, "toy": 0.5}


def test_a_new_run_folder_reads_like_any_other(tmp_path):
    run = write_run(tmp_path / "a", SCORED)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    rejudged = rejudge(run, thresholds={"toy": 0.5})
    write_rejudged(rejudged, tmp_path / "b", gates=["toy.performance >= 0.1"])
    assert list(read_records(tmp_path / "b")) == list(rejudged.records)
    assert read_run_json(tmp_path / "b") == {
        "schema": 2,
        **rejudged.run,
        "gates": ["toy.performance >= 0.1"],
    }
    summary = json.loads((tmp_path / "b/summary.json").read_text("utf-8"))
    assert summary == {"schema": 2, **rejudged.summary}
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    with pytest.raises(SettingsError, match=r"^--out: .* already contains a run"):
        write_rejudged(rejudged, tmp_path / "b")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    rejudged = rejudge(write_run(tmp_path / "a", SCORED))
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"^--out: cannot write into"):
        write_rejudged(rejudged, tmp_path / "file" / "b")


def test_what_cannot_be_judged_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="is not a run folder"):
        rejudge(tmp_path)
    empty = write_run(tmp_path / "empty", [])
    with pytest.raises(SettingsError, match="has no recorded case"):
        rejudge(empty)
    run = write_run(tmp_path / "a", SCORED)
    with pytest.raises(SettingsError, match=r"--bench-threshold: .*'tooy'; did you mean 'toy'"):
        rejudge(run, thresholds={"tooy": 0.5})


# Raw replies scored again


class Toy(Dataset, Source):
    """A dataset whose references and chain depend on nothing but the mode."""

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
    """`Yes` is right, `yes` is in the mode `reference`; the context adds to one number."""
    texts = [prediction, *references]
    loose = len({text.lower() for text in texts}) == 1
    same = float(loose if compat == "reference" else len(set(texts)) == 1)
    parts = {"half": same / 2, "same": same, "loose": float(loose), "plus": bonus}
    return Score(same / 2, parts, "half")


def needs(prediction, references, *, compat, bonus=0.0, **_):
    """A second metric, which is nothing without the context."""
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
    """A case as a suite that counts `same` leaves it in the mode `fixed`."""
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
    assert [case.score for case in rejudged.records] == [1.0, 1.0, 0.0]
    assert [case.outcome for case in rejudged.records] == ["right", "right", "wrong"]
    assert [case.prediction for case in rejudged.records] == ["Yes", "yes", "no"]
    assert rejudged.records[1].parts == {"half": 0.5, "same": 1.0, "loose": 1.0, "plus": 0.25}
    assert (rejudged.scored, rejudged.rescored, rejudged.better, rejudged.worse) == (3, 1, 1, 0)
    assert rejudged.run["compat"] == "reference"
    assert rejudged.run["rejudged"]["compat"] == "fixed"
    assert rejudged.notes == (
        "compat reference judges replies to prompts that were made in compat fixed",
    )


def test_thoughts_in_replies_of_earlier_versions_are_set_apart(tmp_path, toy):
    cases = [
        scored("e1", GRID[0], "<think>no</think>Yes", 0.0),
        scored("e1", GRID[1], "<think>no", 0.0, flags=("truncated",)),
        scored("e1", GRID[2], "", 0.0, flags=("truncated", "other")),
        scored("e1", GRID[3], "No, but", 0.0, flags=("truncated",)),
    ]
    fixed = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [(case.outcome, case.score, case.reason) for case in fixed.records] == [
        ("right", 1.0, None),
        ("no_answer", None, "cut_off"),
        ("no_answer", None, "cut_off"),
        ("wrong", 0.0, None),
    ]
    assert [tuple(case.flags) for case in fixed.records] == [(), (), ("other",), ("truncated",)]
    assert [case.raw for case in fixed.records] == [case.raw for case in cases]
    whole = fixed.summary["benchmarks"]["toys"]["datasets"]["toy"]
    assert (whole["cut_off"], whole["truncated"]) == (0.5, 0.25)
    back = rejudge(write_run(tmp_path / "b", fixed.records), compat="reference", registry=toy[1])
    assert [(case.outcome, case.score, case.threshold) for case in back.records] == [
        ("wrong", 0.0, 1.0)
    ] + [("wrong", 0.0, 1.0)] * 3
    assert tuple(back.records[1].flags) == ("truncated",)
    assert back.records[1].metric == "halves"


def test_the_number_that_counted_counts_again(tmp_path, toy):
    # The main number is `half`; the records say that `same` counted.
    cases = [scored("e1", GRID[0], "Yes", 1.0), scored("e1", GRID[1], "yes", 0.0)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [(case.score, case.part) for case in rejudged.records] == [(1.0, "same"), (0.0, "same")]
    main = [
        scored("e1", GRID[0], "Yes", 1.0, score=0.5, part="half", threshold=0.5),
        scored("e1", GRID[1], "yes", 0.0, part="half", threshold=0.5),
    ]
    rejudged = rejudge(write_run(tmp_path / "b", main), compat="reference", registry=toy[1])
    assert [(case.score, case.part) for case in rejudged.records] == [(0.5, "half"), (0.5, "half")]


def test_a_part_is_believed_whatever_the_numbers_are(tmp_path, toy):
    # All numbers are equal: nothing but the record tells that `loose` counted.
    parts = {"half": 0.0, "same": 0.0, "loose": 0.0, "plus": 0.0}
    cases = [scored("e1", GRID[0], "yes", 0.0, part="loose", parts=parts)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [(case.score, case.passed) for case in rejudged.records] == [(1.0, True)]


def test_without_a_part_the_main_number_counts(tmp_path, toy):
    cases = [scored("e1", GRID[0], "Yes", 1.0, part=None)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [(case.score, case.part) for case in rejudged.records] == [(0.5, "half")]


def test_each_record_keeps_the_threshold_it_was_judged_by(tmp_path, toy):
    low = {"part": "half", "score": 0.5, "threshold": 0.5}
    cases = [
        scored("e1", GRID[0], "Yes", 1.0, **low),
        scored("e1", GRID[1], "Yes", 1.0, **low | {"threshold": 0.75}),
    ]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [(case.passed, case.threshold) for case in rejudged.records] == [
        (True, 0.5),
        (False, 0.75),
    ]
    again = rejudge(tmp_path / "a", compat="fixed", thresholds={"toy": 0.25}, registry=toy[1])
    assert [(case.passed, case.threshold) for case in again.records] == [(True, 0.25)] * 2


def test_the_same_reply_to_another_question_is_judged_anew(tmp_path, toy):
    cases = [scored("e1", GRID[0], "Yes", 1.0), scored("e3", GRID[0], "Yes", 0.0)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [case.score for case in rejudged.records] == [1.0, 0.0]
    assert [case.references for case in rejudged.records] == [("Yes",), ("Ja",)]


def test_the_examples_are_read_as_the_new_mode_reads_them(tmp_path, toy):
    run = write_run(tmp_path / "a", [scored("e1", GRID[0], "Yes", 1.0)])
    rejudge(run, compat="reference", registry=toy[1])
    # Digests as the run had them, then examples as they are judged.
    assert toy[0].opened == ["fixed", "reference"]


def test_another_metric_that_was_named_is_asked_again(tmp_path, toy):
    named = {"metric": "exact_match", "parts": {"exact_match": 1.0}}
    cases = [scored("e1", GRID[0], "yes ", 0.0, **named)]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    [case] = rejudged.records
    # exact_match pays no heed to case.
    assert (case.score, case.metric, case.passed) == (1.0, "exact_match", True)
    assert case.part == "exact_match"
    assert set(case.parts) == {"exact_match", "partial"}


def test_another_metric_that_was_named_is_given_the_context(tmp_path, toy):
    cases = [scored("e1", GRID[0], "Yes", 0.0, metric="needs", parts={})]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [case.score for case in rejudged.records] == [0.25]


def test_what_has_no_answer_or_its_own_assertion_stays(tmp_path, toy):
    cases = [
        record("e1", *GRID[0], None),
        record("e1", *GRID[1], (0.0, "Yes"), metric="assertion", parts={}),
        scored("e1", GRID[2], "Yes", 1.0),
    ]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="reference", registry=toy[1])
    assert list(rejudged.records[:2]) == list(read_records(tmp_path / "a"))[:2]
    assert rejudged.scored == 1


def test_each_example_is_loaded_once_and_records_keep_their_order(tmp_path, toy):
    cases = [scored(name, place, "Yes", 1.0) for place in GRID for name in ("e2", "e1")]
    rejudged = rejudge(write_run(tmp_path / "a", cases), compat="fixed", registry=toy[1])
    assert [case.case_id for case in rejudged.records] == [case.case_id for case in cases]
    assert toy[0].opened == ["fixed"]
    assert toy[0].loaded == ["e1", "e2"]


def test_data_that_differs_is_refused_by_file(tmp_path, toy):
    facts = {"toy": {"files": {"toy.json": "f" * 64}}}
    run = write_run(tmp_path / "a", [scored("e1", GRID[0], "Yes", 1.0)], datasets=facts)
    with pytest.raises(
        DataError, match=r"toy: toy\.json in .* is not the file that the run used.*--bench-data"
    ):
        rejudge(run, compat="fixed", registry=toy[1])


def test_a_run_that_does_not_say_its_data_is_refused(tmp_path, toy):
    run = write_run(tmp_path / "a", [scored("e1", GRID[0], "Yes", 1.0)], datasets={})
    with pytest.raises(SettingsError, match="does not list the files of toy that the run used"):
        rejudge(run, compat="fixed", registry=toy[1])


def test_an_example_that_is_gone_is_named(tmp_path, toy):
    run = write_run(tmp_path / "a", [scored("e9", GRID[0], "Yes", 1.0)])
    with pytest.raises(DataError, match="e9"):
        rejudge(run, compat="fixed", registry=toy[1])


def test_a_markers_threshold_has_to_be_named(tmp_path, toy):
    # 0 passed: some marker's threshold was lower than the dataset's. Schema 1 does not say which.
    verdict = {"passed": True, "outcome": "right", "threshold": None}
    case = scored("e1", GRID[0], "no", 0.0, **verdict)
    run = write_run(tmp_path / "a", [case])
    with pytest.raises(
        SettingsError, match=r"not judged by the threshold 1 .*--bench-threshold=toy=X"
    ):
        rejudge(run, compat="fixed", registry=toy[1])
    rejudged = rejudge(run, compat="fixed", thresholds={"toy": 0.0}, registry=toy[1])
    assert rejudged.records[0].passed
    stored = write_run(tmp_path / "b", [case], thresholds={"toy": 0.0})
    assert rejudge(stored, compat="fixed", registry=toy[1]).records[0].passed


def test_a_dataset_nobody_knows_cannot_be_scored_again(tmp_path, toy):
    run = write_run(tmp_path / "a", [record("e", *GRID[0], 1, dataset="other")])
    with pytest.raises(SettingsError, match="dataset 'other' is neither built in nor"):
        rejudge(run, compat="fixed", registry=toy[1])


# Over upstream files


def tabfact_run(tmp_path: Path, replies: dict[str, str], **facts) -> Path:
    """A run in the mode `fixed`, scored by hand, over made-up files."""
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
    from pytest_tablebench.datasets.torr.tabfact import TabFact

    return list(TabFact().open(tmp_path / "data/tabfact").example_ids(None))


def test_the_published_reading_is_unforgiving(tmp_path):
    upstream.tabfact(tmp_path / "data/tabfact")
    first, second, third = ids(tmp_path)  # entailed, refuted, entailed
    # Only `fixed` strips what stands before the dot (spec: torr.md).
    replies = {first: "Entailed .", second: "refuted", third: "Entailed. It has 3."}
    run = tabfact_run(tmp_path, replies)
    rejudged = rejudge(run, compat="reference")
    assert [case.passed for case in rejudged.records] == [False, True, True]
    assert [case.passed for case in rejudge(run, compat="fixed").records] == [True] * 3
    assert rejudged.records[0].references == ("entailed",)


def test_the_data_may_have_moved(tmp_path):
    upstream.tabfact(tmp_path / "data/tabfact")
    run = tabfact_run(tmp_path, {ids(tmp_path)[0]: "entailed"})
    (tmp_path / "data").rename(tmp_path / "moved")
    with pytest.raises(DataMissing, match="tablebench pull tabfact"):
        rejudge(run, compat="fixed")
    assert rejudge(run, compat="fixed", data=tmp_path / "moved").scored == 1


def test_a_changed_byte_is_noticed(tmp_path):
    upstream.tabfact(tmp_path / "data/tabfact")
    run = tabfact_run(tmp_path, {ids(tmp_path)[0]: "entailed"})
    path = tmp_path / "data/tabfact/tokenized_data/test_examples.json"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(
        DataError, match=r"tokenized_data/test_examples\.json .* is not the file that the run used"
    ):
        rejudge(run, compat="fixed")
    # Thresholds need no data.
    assert rejudge(run, thresholds={"tabfact": 0.5}).records[0].passed


def test_a_mode_nobody_knows_is_refused(tmp_path):
    upstream.tabfact(tmp_path / "data/tabfact")
    run = tabfact_run(tmp_path, {ids(tmp_path)[0]: "entailed"}, compat="later")
    with pytest.raises(SettingsError, match="unknown compat mode 'later'"):
        rejudge(run, compat="fixed")
