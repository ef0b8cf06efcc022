"""Figures by tag, of parts, changed meaning and consistency, against values worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench import analyse
from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.claims.summary._examples import MOST, TAGS
from pytest_tablebench.results import ScoreRow, ScoreTable
from tests.support.matrix import draws

Records = list[ScoreRow]


def cell(example: str, configuration: str, score: float | None, **more: Any) -> ScoreRow:
    serializer, _, perturbation = configuration.partition("/")
    judged = (None, None, "timeout") if score is None else (score, score >= 0.5, None)
    dataset = more.pop("dataset", "d")
    names = dataset, example, serializer, perturbation or "none"
    return ScoreRow("b", *names, *judged, **more)


def example(name: str, answers: str, right: str, **more: Any) -> Records:
    """Return an example's cells, one per letter of `answers`; a dot is no answer."""
    figures = []
    for place, letter in enumerate(answers):
        score = None if letter == "." else float(letter == right)
        mark = None if letter == "." else ord(letter)
        figures.append(cell(name, f"f{place}", score, answer_mark=mark, **more))
    return figures


def scope(records: Records, dataset: str = "d") -> dict[str, Any]:
    dataset_scope: dict[str, Any] = summarize(records)["benchmarks"]["b"]["datasets"][dataset]
    return dataset_scope


COUNTS = ("n_examples", "n_cases")

# By tag

SOME = settings(max_examples=draws(40))

kinds = st.sampled_from(["", "look-up", "sum", "join"])


@SOME
@given(
    st.lists(
        st.tuples(kinds, st.sampled_from(["d", "other"]), st.text("ab.", min_size=1, max_size=4)),
        min_size=1,
        max_size=8,
    )
)
def test_each_slice_equals_a_run_of_its_examples_and_counts_sum_to_the_run(rows):
    records: Records = []
    for number, (kind, dataset, answers) in enumerate(rows):
        tags = {"kind": kind} if kind else {}
        records += example(f"e{number}", answers, "a", dataset=dataset, tags=tags)
    for slice_scope in (summarize(records)["benchmarks"]["b"], *datasets(records).values()):
        if not any(kind for kind, *_ in rows):
            assert "tags" not in slice_scope
        for by in slice_scope.get("tags", {}).values():
            scopes = [*by["values"].values(), *([by["without"]] if "without" in by else [])]
            for count in COUNTS:
                assert sum(part[count] for part in scopes) == slice_scope[count]
    of_run = summarize(records)["benchmarks"]["b"].get("tags", {"kind": {"values": {}}})
    for kind, slice_scope in of_run["kind"]["values"].items():
        alone = summarize([record for record in records if record.tags.get("kind") == kind])
        whole = alone["benchmarks"]["b"]
        same = [*COUNTS, "performance", "robustness", "pass_rate", "no_answer", "ci95", "flags"]
        assert {name: slice_scope[name] for name in same} == {name: whole[name] for name in same}


def datasets(records: Records) -> dict[str, Any]:
    by_dataset: dict[str, Any] = summarize(records)["benchmarks"]["b"]["datasets"]
    return by_dataset


def test_rare_values_of_a_tag_are_pooled():
    values = [f"v{number:03}" for number in range(MOST + 2)]
    records = [cell(f"e{n}", "html", 1.0, tags={"id": v}) for n, v in enumerate(values)]
    records += [cell("again", "html", 0.0, tags={"id": values[-1]}), cell("none", "html", 0.0)]
    tag = scope(records)["tags"]["id"]
    assert list(tag["values"]) == [*values[: MOST - 1], values[-1]]
    assert tag["values"][values[-1]]["performance"] == 0.5
    assert (tag["n_others"], tag["others"]["n_examples"]) == (2, 2)
    assert tag["without"]["performance"] == 0


def test_only_the_most_common_tags_are_shown():
    tags = {f"t{n:02}": "x" for n in range(TAGS + 3)}
    figures = scope(
        [cell("e1", "html", 1.0, tags=tags), cell("e2", "html", 1.0, tags={"t22": "y"})]
    )
    assert list(figures["tags"]) == [*(f"t{n:02}" for n in range(TAGS - 1)), "t22"]
    assert figures["tags_left_out"] == 3


# Named parts


def test_a_part_is_the_mean_over_the_cases_that_have_it():
    judged = {"parts": {"em": 1.0, "judge": 0.5}}
    records = [
        cell("e1", "html", 1.0, **judged),
        cell("e1", "csv", 0.0, parts={"em": 0.0}),
        cell("e2", "html", 0.0, parts={"em": 0.0}),
        cell("e2", "csv", None),
    ]
    parts = scope(records)["parts"]
    assert parts["em"] | {"ci95": None} == {
        "mean": 0.25,
        "ci95": None,
        "n_examples": 2,
        "n_cases": 3,
        "absent": 0,
        "is_score": True,
    }
    # Without a judge the part is absent, not 0.
    assert parts["judge"] == {
        "mean": 0.5,
        "ci95": None,
        "n_examples": 1,
        "n_cases": 1,
        "absent": 2,
        "is_score": False,
    }


def test_a_part_has_an_interval_over_examples_if_it_is_a_share():
    records = [
        cell(f"e{n}", "html", float(n % 2), parts={"f1": n % 2 / 2, "chars": float(n)})
        for n in range(20)
    ]
    parts = scope(records)["parts"]
    assert parts["chars"]["mean"] == 9.5
    assert parts["chars"]["ci95"] is None
    assert parts["f1"]["mean"] == 0.25
    low, high = parts["f1"]["ci95"]
    assert low < 0.25 < high


def test_a_benchmark_has_the_parts_of_all_its_datasets():
    records = [
        cell("e", "html", 1.0, parts={"em": 1.0, "f1": 0.5}),
        cell("e", "html", 0.0, parts={"em": 0.0}, dataset="other"),
    ]
    part_figures = summarize(records)["benchmarks"]["b"]["parts"]
    assert {name: part["mean"] for name, part in part_figures.items()} == {"em": 0.5}


# Changed meaning


def test_cases_with_changed_meaning_are_in_no_other_measure():
    plain = [cell("e1", "html", 1.0), cell("e1", "csv", 0.5), cell("e2", "html", 0.0)]
    cut = [
        cell(name, f"{serializer}/truncate_rows", score, preserves_meaning=False)
        for name, serializer, score in (
            ("e1", "html", 0.0),
            ("e1", "csv", 0.5),
            ("e2", "html", None),
        )
    ]
    alone, both = scope(plain), scope([*plain, *cut])
    for measure in ("performance", "robustness", "pass_rate", "flags"):
        assert both[measure] == alone[measure], measure
    assert (alone["n_cases"], both["n_cases"], both["no_answer"]) == (3, 6, 1 / 6)
    assert "changed_meaning" not in alone
    assert both["changed_meaning"] | {"ci95": None} == {
        "perturbations": ["truncate_rows"],
        "value": 0.25,
        "ci95": None,
        "pass_rate": 0.5,
        "no_answer": 1 / 3,
        "n_examples": 2,
        "n_cases": 3,
    }
    assert both["perturbations"]["truncate_rows"]["performance"] == 0.25


def test_a_run_with_changed_meaning_only_is_measured_and_flagged():
    figures = scope([cell("e1", "html/no_table", 0.5, preserves_meaning=False)])
    assert figures["performance"] == 0.5
    assert "changed meaning" in figures["flags"]
    assert "changed_meaning" not in figures


def test_the_analyses_leave_out_changed_meaning():
    plain = [cell(f"e{n}", form, n / 2) for n in range(3) for form in ("html", "csv")]
    cut = [replace(record, perturbation="cut", preserves_meaning=False) for record in plain]
    records, both = ([vars_of(record) for record in run] for run in (plain, [*plain, *cut]))
    assert analyse(both) == analyse(records)
    assert (
        analyse([vars_of(record) for record in cut])["performance"]
        == analyse(records)["performance"]
    )


def vars_of(record: ScoreRow) -> dict[str, Any]:
    return {name: getattr(record, name) for name in ScoreRow.__dataclass_fields__} | {"model": "m"}


# Consistency


def test_consistency_is_the_share_of_the_most_common_answer_right_or_wrong():
    records = [
        *example("e1", "aaab", "a"),  # 3 of 4 agree; right; single 3/4
        *example("e2", "xxy.", "y"),  # 2 of 3 agree, on a wrong answer; single 1/3
        *example("e3", "ab..", "a"),  # two answers are not enough
    ]
    consistency = scope(records)["consistency"]
    assert consistency["value"] == pytest.approx((3 / 4 + 2 / 3) / 2)
    assert consistency["majority"] == 0.5
    assert consistency["single"] == pytest.approx((3 / 4 + 1 / 3) / 2)
    assert consistency["gain"] == pytest.approx(consistency["majority"] - consistency["single"])
    assert consistency["n_examples"] == 2
    assert [(p["agreement"], p["coverage"], p["risk"]) for p in consistency["risk"]] == [
        (0.7, 0.5, 0.0),
        (0.6, 1.0, 0.5),
    ]


def test_answers_that_tie_have_equal_weight():
    consistency = scope(example("e1", "aabbc", "a"))["consistency"]
    assert (consistency["value"], consistency["majority"], consistency["single"]) == (0.4, 0.5, 0.4)


def test_two_configurations_have_no_consistency():
    assert "consistency" not in scope([*example("e1", "aa", "a"), *example("e2", "ab", "a")])
    assert "consistency" not in scope(
        [replace(record, answer_mark=None) for record in example("e", "aaa", "a")]
    )


@SOME
@given(st.lists(st.text("abc.", min_size=3, max_size=6), min_size=1, max_size=6))
def test_consistency_agrees_with_a_second_implementation(rows_of_answers):
    records = [
        record
        for n, letters in enumerate(rows_of_answers)
        for record in example(f"e{n}", letters, "a")
    ]
    shares, scores = [], []
    for letters in rows_of_answers:
        answers = letters.replace(".", "")
        if len(answers) < 3:
            continue
        most = max(answers.count(answer) for answer in answers)
        tied = {answer for answer in answers if answers.count(answer) == most}
        shares.append(most / len(answers))
        scores.append(("a" in tied) / len(tied))
    consistency = scope(records).get("consistency")
    assert (consistency is None) == (not shares)
    if consistency:
        assert consistency["value"] == pytest.approx(sum(shares) / len(shares))
        assert consistency["majority"] == pytest.approx(sum(scores) / len(scores))


def test_reading_the_figures_of_a_table_twice_gives_the_same():
    records = [*example("e1", "aab", "a", tags={"kind": "sum"}), *example("e2", "abc", "a")]
    assert summarize(ScoreTable.from_records(records)) == summarize(records[::-1])
