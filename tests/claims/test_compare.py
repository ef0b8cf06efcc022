"""Two runs side by side, against values computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from pytest_tablebench.claims.compare import compare_runs
from tests.support.page_runs import record as page_record
from tests.support.page_runs import write_run as write_run_of
from tests.support.run_folders import GRID, record, write_pair, write_run

BEFORE = {"e1": [1, 0, 0, 0], "e2": [1, 1, 1, 1], "e3": [0, 0, 0, 0]}
AFTER = {"e1": [1, 1, 0, 0], "e2": [1, 1, 1, 0], "e3": [1, 1, 1, 1]}
T_2 = 4.302653
"""The .975 quantile of Student's t with 2 degrees of freedom, from a table."""


def scope(comparison, kind, name, dataset=None):
    [match] = [
        candidate
        for candidate in comparison.scopes
        if (candidate.kind, candidate.name) == (kind, name) and dataset in (None, candidate.dataset)
    ]
    return match


def toy(comparison, measure):
    return scope(comparison, "dataset", "toy").measures[measure]


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    """Return the comparison of BEFORE and AFTER."""
    return compare_runs(*write_pair(tmp_path_factory.mktemp("pair"), BEFORE, AFTER))


def test_performance_is_the_paired_difference_with_its_t_interval(tmp_path):
    after = AFTER | {"e3": [1, 0, 0, 0]}
    difference = toy(compare_runs(*write_pair(tmp_path, BEFORE, after)), "performance")
    assert (difference.before, difference.after) == (
        pytest.approx(1.25 / 3),
        pytest.approx(1.5 / 3),
    )
    assert difference.value == pytest.approx(1 / 12)  # of .25, -.25 and .25
    half = T_2 * math.sqrt(0.0833333333 / 3)  # variance of the three
    assert difference.interval == pytest.approx((1 / 12 - half, 1 / 12 + half), abs=1e-5)
    assert (difference.examples, difference.left_out) == (3, 0)


def test_a_difference_has_an_interval_within_its_range_and_a_p(comparison):
    difference = toy(comparison, "performance")
    # Of .25, -.25 and 1: 1/3 -+ 1.56, and a difference of scores is within -1 to 1.
    assert (difference.value, difference.interval) == (pytest.approx(1 / 3), (-1.0, 1.0))
    # Six of the eight signs of .25, -.25 and 1 give a sum as far from 0 as 1.
    assert difference.p == pytest.approx(0.75, abs=0.02)
    assert difference.test == "sign-flip over examples"
    # The range of each example.
    difference = toy(comparison, "robustness")
    assert (difference.before, difference.after) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert difference.value == pytest.approx(-1 / 3)


def test_each_serializer_perturbation_and_configuration_is_compared(comparison):
    difference = scope(comparison, "serializer", "csv").measures["performance"]
    assert difference.value == pytest.approx((0.5 + 0 + 1) / 3)
    difference = scope(comparison, "perturbation", "none").measures["pass_rate"]
    assert difference.value == pytest.approx((0 + 0 + 1) / 3)
    flips = {
        (entry.configuration["serializer"], entry.configuration["perturbation"]): (
            entry.better, entry.worse, entry.p,
        )
        for entry in comparison.configurations
    }  # fmt: skip
    assert set(flips) == set(GRID)
    assert flips["csv", "transpose"] == (2, 0, pytest.approx(0.5))  # 2 * (1/2)^2
    assert flips["html", "transpose"] == (1, 1, 1.0)


def test_flips_are_counted_by_case_and_named(comparison):
    assert comparison.better == ("toy/e1/csv/transpose", *(f"toy/e3/{s}/{p}" for s, p in GRID))
    assert comparison.worse == ("toy/e2/html/transpose",)
    whole = scope(comparison, "dataset", "toy")
    assert (whole.better, whole.worse, whole.n_cases) == (5, 1, 12)
    part = scope(comparison, "serializer", "html")
    assert (part.better, part.worse, part.n_cases) == (2, 1, 6)
    part = scope(comparison, "perturbation", "transpose")
    assert (part.better, part.worse, part.n_cases) == (3, 1, 6)


def test_pass_rate_and_performance_differ_where_scores_are_fractions(tmp_path):
    before = {"e1": [0.9, 0.9, 0.9, 0.9], "e2": [0.2, 0.2, 0.2, 0.2]}
    after = {"e1": [1, 1, 1, 1], "e2": [0.6, 0.6, 0.6, 0.6]}
    comparison = compare_runs(*write_pair(tmp_path, before, after))
    assert toy(comparison, "performance").value == pytest.approx(0.25)
    assert toy(comparison, "pass_rate").value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [(10, 2, 0.03857421875), (5, 16, 0.02660369873046875), (3, 3, 1.0), (0, 1, 1.0)],
)
def test_the_p_of_a_single_configuration_is_exact_mcnemar(tmp_path, better, worse, p):
    count = better + worse + 4
    before = {f"e{n:02}": [float(n < worse or n >= count - 2)] for n in range(count)}
    after = {
        f"e{n:02}": [float(worse <= n < worse + better or n >= count - 2)] for n in range(count)
    }
    only = [("csv", "none")]
    first = write_run(tmp_path / "a", before, configurations=only)
    comparison = compare_runs(first, write_run(tmp_path / "b", after, configurations=only))
    difference = toy(comparison, "pass_rate")
    assert (difference.p, difference.test) == (pytest.approx(p), "exact McNemar")
    [single] = comparison.configurations
    assert (single.better, single.worse, single.n_examples) == (better, worse, count)
    assert single.p == pytest.approx(p)
    note = toy(comparison, "robustness").note
    assert note == "fewer than two common configurations"


def test_over_several_configurations_mcnemar_is_never_used(tmp_path):
    # Four cases flip, all of one example: as four examples McNemar's p would be .125.
    before, after = {"e1": [0] * 4, "e2": [1, 1, 0, 0]}, {"e1": [1] * 4, "e2": [1, 1, 0, 0]}
    difference = toy(compare_runs(*write_pair(tmp_path, before, after)), "pass_rate")
    assert (difference.test, difference.p) == ("sign-flip over examples", 1.0)


def test_datasets_have_equal_weight_in_a_benchmark(tmp_path):
    def cases(name, rows):
        return [
            record(example, *configuration, score, dataset=name)
            for example, row in rows.items()
            for configuration, score in zip(GRID, row, strict=True)
        ]

    many_before = {f"m{n}": [0, 0, 0, 0] for n in range(6)}
    many_after = {f"m{n}": [n % 2, n % 2, 0, 0] for n in range(6)}  # 0 or .5 more
    few_before = {f"f{n}": [1, 1, 1, 1] for n in range(4)}
    few_after = {f"f{n}": [1, 1, 1, 0] if n % 2 else [0, 0, 0, 0] for n in range(4)}  # -.25 and -1
    first = write_run(tmp_path / "a", [*cases("many", many_before), *cases("few", few_before)])
    second = write_run(tmp_path / "b", [*cases("many", many_after), *cases("few", few_after)])
    comparison = compare_runs(first, second)
    difference = scope(comparison, "benchmark", "toys").measures["performance"]
    assert difference.value == pytest.approx((0.25 - 0.625) / 2)
    # Spec section 4: SE = sqrt(.075 / 6 + .1875 / 4) / 2, df = (sum v)^2 / sum (v^2 / (n - 1)).
    v_many, v_few = 0.075 / 6, 0.1875 / 4
    df = (v_many + v_few) ** 2 / (v_many**2 / 5 + v_few**2 / 3)
    from scipy.special import stdtrit

    half = stdtrit(df, 0.975) * math.sqrt(v_many + v_few) / 2
    expected = (-0.1875 - half, -0.1875 + half)
    assert difference.interval == pytest.approx(expected, abs=1e-6)
    # Weights make m's and f's differences .5 * 10/12 (three times), -.25 * 10/8 and -1 * 10/8
    # (twice each).
    weighted = [5 / 12] * 3 + [-0.3125] * 2 + [-1.25] * 2
    assert difference.p == pytest.approx(_exact_sign_flip(weighted), abs=0.02)


def _exact_sign_flip(values):
    total, reached = abs(sum(values)), 0
    for signs in range(2 ** len(values)):
        flipped = sum(v if signs >> n & 1 else -v for n, v in enumerate(values))
        reached += abs(flipped) >= total - 1e-9
    return reached / 2 ** len(values)


def test_a_case_without_an_answer_is_left_out_of_both_runs_and_counted(tmp_path):
    before = {"e1": [1, None, 0, 0], "e2": [None] * 4, "e3": [0, 0, 0, 0], "e4": [1, 1, 1, 1]}
    after = {"e1": [0, 1, 0, None], "e2": [1, 1, 1, 1], "e3": [None] * 4, "e4": [1, 1, 1, 1]}
    comparison = compare_runs(*write_pair(tmp_path, before, after))
    difference = toy(comparison, "performance")
    assert (difference.examples, difference.left_out) == (2, 2)  # e1 over two cells, and e4
    assert (difference.left_out_before, difference.left_out_after) == (1, 1)
    assert difference.value == pytest.approx(-0.25)  # of -.5 and 0
    whole = scope(comparison, "dataset", "toy")
    assert (whole.no_answer_before, whole.no_answer_after) == (5 / 16, 5 / 16)
    answers = comparison.answers
    assert (answers.gained, answers.lost, answers.neither) == (5, 5, 0)
    assert "they do not count against a model" in comparison.remarks[0]


def test_robustness_needs_the_whole_grid_on_both_sides(tmp_path):
    before: dict[str, list[int | None]] = {f"e{n}": [1, 1, 1, 0] for n in range(10)}
    after = {name: [1, 1, 1, 1] for name in before} | {"e0": [1, None, 1, 1]}
    before["e1"] = [1, 1, 1, None]
    difference = toy(compare_runs(*write_pair(tmp_path, before, after)), "robustness")
    assert (difference.examples, difference.left_out) == (8, 2)
    assert (difference.left_out_before, difference.left_out_after) == (1, 1)
    assert difference.value == pytest.approx(1.0)
    assert difference.interval is not None


def test_robustness_has_no_interval_when_more_than_a_fifth_is_incomplete(tmp_path):
    before = {f"e{n}": [1, 1, 1, 0] for n in range(10)}
    after = {name: [1, None if name < "e3" else 1, 1, 1] for name in before}
    difference = toy(compare_runs(*write_pair(tmp_path, before, after)), "robustness")
    assert (difference.examples, difference.left_out, difference.left_out_after) == (7, 3, 3)
    assert difference.interval is None
    assert difference.p is None
    assert difference.note.startswith("3 of 10 examples lack an answer to some configuration")


def test_identical_answers_have_an_interval_from_their_number(tmp_path):
    difference = toy(compare_runs(*write_pair(tmp_path, BEFORE, BEFORE)), "performance")
    assert (difference.value, difference.p) == (0.0, 1.0)
    reach = 1 - 0.025 ** (1 / 3)
    assert difference.interval == pytest.approx((-reach, reach))
    assert difference.identical
    assert difference.note == "identical answers"


def test_equal_scores_of_different_texts_are_not_identical(tmp_path):
    after = {name: [(score, "another text") for score in row] for name, row in BEFORE.items()}
    difference = toy(compare_runs(*write_pair(tmp_path, BEFORE, after)), "performance")
    assert not difference.identical
    # Zero variance: 1 - .025^(1/3) to each side.
    reach = 1 - 0.025 ** (1 / 3)
    assert difference.interval == pytest.approx((-reach, reach))


def test_answers_are_counted_as_same_text_other_text_or_flipped(tmp_path):
    before = {"e1": [(1, "a"), (1, "a"), (1, "a"), (0, "x")], "e2": [None] * 4}
    after = {"e1": [(1, "a"), (1, "b"), (0, "c"), (1, "x")], "e2": [None] * 4}
    after["e3"], before["e3"] = [(1, "a"), None, None, None], [None, None, None, (1, "a")]
    comparison = compare_runs(*write_pair(tmp_path, before, after))
    answers = comparison.answers
    assert (answers.same_text, answers.other_text, answers.flipped) == (1, 1, 2)
    assert (answers.flipped_same_text, answers.neither) == (1, 6)
    cases = lambda ids: [key.split("/")[1] for key in ids]  # noqa: E731
    assert (cases(comparison.gained), cases(comparison.lost)) == (["e3"], ["e3"])
    assert not {*comparison.gained} & {*comparison.lost}
    # Two answers have another text: one kept its verdict, the other flipped.
    assert (
        len(comparison.other_answer)
        == answers.other_text + answers.flipped - answers.flipped_same_text
    )
    assert {*comparison.other_answer} > {*comparison.worse}


def test_an_answer_without_a_verdict_is_neither_lost_nor_gained(tmp_path):
    def run(name, *texts):
        scored: dict[str, Any] = {"outcome": "scored", "passed": None, "threshold": None}
        rows = [
            record(f"e{n}", "csv", "none", (0.5, text), **scored) for n, text in enumerate(texts)
        ]
        return write_run(tmp_path / name, rows)

    comparison = compare_runs(run("a", "x", "y"), run("b", "x", "z"))
    answers = comparison.answers
    assert (answers.same_text, answers.other_text, answers.flipped) == (1, 1, 0)
    assert (answers.lost, answers.gained, answers.neither) == (0, 0, 0)
    assert (comparison.lost, comparison.gained) == ((), ())


def test_cases_on_one_side_only_are_named(tmp_path):
    before = BEFORE | {"old": [1, 1, 1, 1]}
    comparison = compare_runs(*write_pair(tmp_path, before, AFTER | {"new": [1, 1, 1, 1]}))
    assert comparison.only_before == tuple(f"toy/old/{s}/{p}" for s, p in GRID)
    assert comparison.only_after == tuple(f"toy/new/{s}/{p}" for s, p in GRID)
    difference = toy(comparison, "performance")
    # A case that was not asked does not count as one without an answer.
    assert (difference.examples, difference.left_out) == (3, 0)
    assert toy(comparison, "robustness").interval is not None
    assert difference.value == pytest.approx(1 / 3)


def test_a_run_cut_off_is_compared_and_marked(tmp_path):
    first, second = write_pair(tmp_path, BEFORE, AFTER, cases_planned=12, status="running")
    path = second / "records.jsonl"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(lines[:9]) + b'\n{"schema": 1, "case')  # e3 has one case left
    comparison = compare_runs(first, second)
    assert comparison.after.is_cut_off
    assert not comparison.before.is_cut_off
    assert (len(comparison.after.records), comparison.after.facts.cases_planned) == (9, 12)
    assert comparison.remarks[0].startswith("after was interrupted: 9 of 12 cases recorded")
    assert len(comparison.only_before) == 3
    assert toy(comparison, "performance").examples == 3
    assert toy(comparison, "robustness").examples == 2


def test_a_single_example_has_a_difference_and_no_interval(tmp_path):
    difference = toy(
        compare_runs(*write_pair(tmp_path, {"e": [1, 0, 0, 0]}, {"e": [1, 1, 0, 0]})), "pass_rate"
    )
    assert difference.value == 0.25
    assert difference.interval is None
    assert difference.note == "fewer than two examples"


def test_an_example_without_a_common_answer_is_left_out(tmp_path):
    before, after = {"e": [1, None, None, None]}, {"e": [None, 1, 1, 1]}
    difference = toy(compare_runs(*write_pair(tmp_path, before, after)), "performance")
    assert (difference.value, difference.examples, difference.left_out) == (None, 0, 1)
    assert (difference.left_out_before, difference.left_out_after) == (1, 1)
    assert difference.note == "no example has an answer on both sides"


def test_the_model_in_a_case_id_does_not_matter(tmp_path):
    first = write_run(tmp_path / "a", [record("e", *GRID[0], 0, tail="/model-a")])
    second = write_run(tmp_path / "b", [record("e", *GRID[0], 1, tail="/model-b")])
    comparison = compare_runs(first, second)
    assert comparison.better == ("toy/e/csv/none",)
    assert comparison.only_before == comparison.only_after == ()


def test_repeats_are_paired_with_each_other(tmp_path):
    def run(name, *scores):
        tails = ("", "/r2", "/r3")
        cases = [
            replace(record(example, *configuration, score, tail=tail), repeat=repeat)
            for example in ("e1", "e2")
            for configuration in GRID[:2]
            for repeat, (score, tail) in enumerate(zip(scores, tails, strict=True), start=1)
        ]
        return write_run(tmp_path / name, cases)

    comparison = compare_runs(run("a", 0, 0, 1), run("b", 0, 1, 1))
    assert comparison.better[0] == "toy/e1/csv/none/r2"
    assert toy(comparison, "performance").value == pytest.approx(1 / 3)
    # Robustness is the range over formats of the means over repeats, here 0.
    assert toy(comparison, "robustness").after == 1.0
    assert [configuration.n_examples for configuration in comparison.configurations] == [2, 2]


def test_tags_that_only_one_run_records_are_scopes_too(tmp_path):
    sides = []
    for name, right in (("a", 0), ("b", 3)):
        records = [
            tagged_record(f"e{n}", score=float(n < right), tags={"kind": "sum"} if n < 4 else {})
            for n in range(6)
        ]
        if name == "a":  # as an older version writes it
            records = [replace(case, tags={}) for case in records]
        cut = [
            replace(
                case, perturbation="cut", case_id=case.case_id + "/cut", preserves_meaning=False
            )
            for case in records
        ]
        sides.append(write_run_of(tmp_path / name, [*records, *cut]))
    comparison = compare_runs(*sides, allow_unlike=True)
    scopes = {(compared.kind, compared.name): compared for compared in comparison.scopes}
    assert ("tag", "kind=sum") in scopes
    summed, whole = scopes["tag", "kind=sum"], scopes["dataset", "wikitq"]
    assert (summed.measures["performance"].examples, summed.n_cases, summed.better) == (4, 4, 3)
    assert summed.measures["performance"].value == 0.75
    # Cases with changed meaning have a separate scope and are in no other.
    assert (whole.n_cases, whole.measures["performance"].value) == (6, 0.5)
    assert scopes["perturbation", "cut"].measures["performance"].value == 0.5


def tagged_record(example, score, tags):
    outcome = "right" if score else "wrong"
    return page_record(example_id=example, outcome=outcome, score=score, tags=tags)
