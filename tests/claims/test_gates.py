"""Results of gates, against values worked out by hand from the rules of the specification."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.estimate import (
    Moments,
    failure_tail,
    level_bounds,
    moments,
    paired_bounds,
)
from pytest_tablebench.claims.gates import (
    exit_code,
    judge_gates,
    mcnemar,
    sign_flip,
    verdict_line,
)
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results import ScoreRow
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.gate_rows import cell, judge, rows
from tests.support.present import present


def test_the_estimate_is_a_mean_over_examples_not_cases():
    records = [cell(0, 1.0), cell(0, 1.0, cell="t/p"), cell(0, 1.0, cell="u/p"), cell(1, 0.0)]
    result = judge("d.performance >= 0.5", records)
    assert result.value == 0.5
    assert result.examples == 2
    assert result.state_point == "holds"


def test_a_filter_selects_a_serializer_a_perturbation_or_both():
    records = [
        cell(example, score, cell=name)
        for example in (0, 1)
        for name, score in (("a/x", 0.1), ("a/y", 0.2), ("b/x", 0.4), ("b/y", 0.8))
    ]
    for name, mean in {"[a]": 0.15, "[x]": 0.25, "[b][y]": 0.8, "[y][b]": 0.8}.items():
        assert judge(f"d{name}.performance >= 0", records).value == pytest.approx(mean)


def test_equal_scores_have_an_interval_for_unseen_examples():
    result = judge("d.performance >= 0.5", rows([0.75] * 12))
    # u = 1 - .025^(1/12) = .265 (specification, section 2.1).
    assert result.interval == pytest.approx((0.75 - 0.2647, 1.0), abs=1e-3)
    assert (result.se, result.df, result.method) == (0.0, None, "zero variance")


def test_a_paired_interval_agrees_with_one_worked_out_by_hand():
    # d = .1, .2, .3: mean .2, s = .1, t_.975 with 2 df = 4.3027, half = .2484.
    new, old = rows([0.5, 0.6, 0.7]), rows([0.4, 0.4, 0.4])
    result = judge("d.performance >= baseline - 0.05", new, old)
    assert result.value == pytest.approx(0.2)
    assert result.interval == pytest.approx((0.2 - 0.24841, 0.2 + 0.24841), abs=1e-4)
    assert (result.method, result.df, result.state) == ("t", pytest.approx(2), "holds")
    assert paired_bounds(present(moments([[0.1, 0.2, 0.3]])))[:2] == pytest.approx(result.interval)


def test_the_interval_of_a_difference_stays_within_its_range():
    """Differences 0, 0 and 1 give 1/3 -+ 4.303 * 1/3, so -1.10 to 1.77 before it is cut."""
    before, after = rows([0, 0, 1]), rows([0, 1, 1])
    assert judge("d.performance >= baseline", after, before).interval == (-1.0, 1.0)
    assert paired_bounds(present(moments([[0.0, 0.0, 1.0]]))) == (-1.0, 1.0, "t")
    # No difference is below -1, so this gate always holds.
    assert judge("d.performance >= baseline - 1", after, before).state == "holds"


def test_a_stratified_interval_agrees_with_one_worked_out_by_hand():
    # Means .5 and .2; v = .01/2 and .04/2... each of two examples, df by Welch.
    figures = present(moments([[0.4, 0.6], [0.0, 0.4]]))
    first, second = 0.02 / 2, 0.08 / 2
    assert figures.mean == pytest.approx(0.35)
    assert figures.se == pytest.approx(math.sqrt(first + second) / 2)
    assert figures.df == pytest.approx((first + second) ** 2 / (first**2 + second**2))
    assert figures.n == 4


def test_tables_are_clusters_where_the_dataset_declares_them():
    # Two tables of two equal examples each: as two examples, not four.
    values = [0.2, 0.2, 0.6, 0.6]
    alone = present(moments([values]))
    shared = present(moments([values], [["a", "a", "b", "b"]]))
    # G/(G-1) * ((-.4)^2 + .4^2) / 4^2 = 2 * .32 / 16.
    assert shared.variance == pytest.approx(0.04)
    assert (shared.df, shared.size, shared.n) == (1, 2, 4)
    assert alone.variance == pytest.approx(0.16 / 3 / 4)
    same = moments([values], [["a", "b", "c", "d"]])
    assert same == alone


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize(
    ("figures", "bound"),
    [
        (Moments(0.6, 0.01, 20.0, 21, 21), 0.85),  # effective
        (Moments(0.95, 0.0004, 19.0, 20, 20), 0.99),  # by examples
        (Moments(0.5, 0.0, None, 12, 12), 0.6),  # all equal
    ],
)
def test_p_is_the_tail_whose_interval_ends_at_the_bound(figures, bound, above):
    if not above:
        mean = 1 - figures.mean
        figures, bound = (
            Moments(mean, figures.variance, figures.df, figures.size, figures.n),
            1 - bound,
        )
    tail = failure_tail(figures, bound, above=above, paired=False)
    assert 0 < tail < 0.5
    end = level_bounds(figures, tail)[1 if above else 0]
    assert end == pytest.approx(bound, abs=1e-9)
    # At a bound on the other side of the estimate the p-value is large.
    assert failure_tail(figures, bound, above=not above, paired=False) == 1.0


def test_p_of_a_paired_difference_is_from_the_t_distribution():
    figures = present(moments([[0.1, -0.2, -0.3, 0.05]]))
    tail = failure_tail(figures, 0.1, above=True, paired=True)
    assert paired_bounds(figures, tail)[1] == pytest.approx(0.1)
    assert failure_tail(figures, 0.1, above=False, paired=True) == pytest.approx(1 - tail)


def test_only_cells_answered_in_both_runs_are_compared():
    new = [*rows([0.5, None, 0.5, 0.7]), cell(4, 0.9), cell(0, 1.0, cell="t/p")]
    old = [*rows([0.4, 0.4, None, 0.5]), cell(9, 0.1)]
    result = judge("d.performance >= baseline", new, old)
    assert result.value == pytest.approx(0.15)
    assert (result.examples, result.n_left_out, result.n_left_out_baseline) == (2, 2, 2)
    assert (result.n_not_asked, result.n_not_asked_baseline) == (1, 1)
    assert result.no_answer == pytest.approx(1 / 6)
    assert result.baseline_no_answer == pytest.approx(1 / 5)
    assert any("not asked" in note for note in result.notes)


def test_identical_answers_hold_within_what_their_number_shows():
    scores = [0.2, 0.4, 0.9]
    new, old = (
        [cell(number, score, raw=f"text {number}") for number, score in enumerate(scores)]
        for _ in range(2)
    )
    # Another 71 % of the questions may differ: 1 - .025^(1/3) = .708.
    gate = "d.performance >= baseline - 0.70"
    result = judge(gate, new, old)
    assert (result.state, result.method, result.identical) == ("undecided", "zero variance", True)
    assert result.interval == pytest.approx((-0.7076, 0.7076), abs=1e-4)
    assert result.reason.startswith("all paired cases have identical answers; the 95 % interval of")
    assert judge("d.performance >= baseline - 0.71", new, old).state == "holds"
    # Equal scores of other or unknown texts do not prove equal answers.
    old[1]["raw"] = "other"
    assert not judge(gate, new, old).identical
    for row in [*new, *old]:
        row["raw"] = None
    assert not judge(gate, new, old).identical


def test_rows_without_answer_texts_are_compared_by_score():
    cells = [ScoreRow("b", "d", str(n), "s", "p", 0.5, True, None) for n in range(8)]
    result = judge("b.performance >= baseline", cells, cells)
    assert (result.state, result.identical) == ("undecided", False)
    assert any("margin" in note for note in result.notes)


def grid(examples, *, missing=()):
    return [
        cell(number, None if (number, name) in missing else score, cell=name)
        for number in range(examples)
        for name, score in (("a/x", 0.25), ("b/x", 0.75))
    ]


def test_robustness_counts_complete_examples_only():
    result = judge("d.robustness >= 0.1", grid(10, missing={(0, "a/x"), (1, "b/x")}))
    assert result.value == pytest.approx(0.5)
    assert (result.examples, result.n_left_out, result.state) == (8, 2, "holds")
    # Worst case: the two incomplete examples have the range 1. Best case: they have the range 0.
    assert result.worst_case == pytest.approx(((8 * 0.5) / 10, (8 * 0.5 + 2) / 10))
    result = judge("d.robustness >= 0.1", grid(10, missing={(n, "a/x") for n in range(3)}))
    assert result.state == "undecided"
    assert result.state_point == "holds"
    assert result.reason == "more than 20 % of the examples have an incomplete grid"


def test_robustness_needs_two_configurations_and_equal_grids():
    one_serializer = [row for row in grid(10) if row["serializer"] == "a"]
    result = judge("d.robustness >= 0.9", one_serializer)
    assert (result.value, result.state) == (1.0, "undecided")
    assert "one configuration" in result.reason
    result = judge("d.robustness >= baseline - 0.5", grid(10), one_serializer)
    assert result.state == "undecided"
    assert "the same configurations" in result.reason


def test_holm_makes_a_gate_undecided_that_fails_only_alone():
    # The one-sided p is about .017: the gate fails alone, but not as one of two.
    values = [-0.1 + 0.165 * math.sin(number * 2.4) for number in range(10)]
    old = [*rows([0.5] * 10), *rows([0.5] * 10, dataset="e")]
    new = [*rows([0.5 + value for value in values]), *rows([0.5] * 9 + [0.4], dataset="e")]
    gates = ["d.performance >= baseline", "e.performance >= baseline"]
    alone = judge(gates[0], new, old)
    assert alone.state == "fails"
    assert 0.0125 < alone.p < 0.025
    both = judge_gates(new, gates, old)
    assert [result.state for result in both] == ["undecided", "undecided"]
    assert both[0].holm_marked
    assert not both[1].holm_marked
    assert "Holm" in both[0].reason
    plain = judge_gates(new, gates, old, correction="none")
    assert plain[0].state == "fails"
    # Gates on counts do not belong to the family.
    counted = judge_gates(new, [gates[0], "all.no_answer <= 0"], old)
    assert counted[0].state == "fails"


def test_point_judges_the_estimate_alone():
    results = judge_gates(
        rows([0.4, 0.6, 0.9]), ["d.performance >= 0.6", "d.performance >= 0.7"], point=True
    )
    assert [result.state for result in results] == ["holds", "fails"]
    assert all("estimate alone" in result.reason for result in results)
    nothing = judge("d.performance >= 0.5", rows([None]), point=True)
    assert (nothing.state, nothing.value) == ("undecided", None)


def test_rounding_errors_of_floats_do_not_change_a_result():
    # The mean of ten times .1 + .2 is not .3 in floats.
    result = judge("d.performance >= 0.3", rows([0.1 + 0.2] * 3 + [0.3]), point=True)
    assert result.state == "holds"
    assert judge("d.performance <= 0.3", rows([0.1 + 0.2] * 3), point=True).state == "holds"


TWO = rows([0.5] * 3) + rows([1.0], dataset="e")
# Two of three configurations for each example, drawn separately.
SAMPLED = [cell(n, 0.5, cell=f"{(n + k) % 3}/p") for n in range(6) for k in (0, 1)]


@pytest.mark.parametrize(
    ("gate", "records", "baseline", "words"),
    [
        ("d.performance >= 0.1", rows([0.5]), None, "fewer than two examples"),
        ("d.performance >= 0.1", rows([None, None]), None, "no example has a score (2 were asked)"),
        ("d.performance >= 0.1", rows([0.5, None]), None, "only one example has a score (2 were"),
        ("all.performance >= 0", TWO, None, "fewer than two usable examples in e"),
        ("dd.performance >= 0", rows([0.5] * 3), None, "did you mean 'd'"),
        ("d[nope].performance >= 0", rows([0.5] * 3), None, "no case of this scope"),
        ("d.robustness >= 0", SAMPLED, None, "robustness needs all configurations"),
        ("d.performance >= baseline", TWO, rows([1.0], dataset="e"), "the baseline has no case"),
    ],
)
def test_a_gate_that_cannot_be_judged_is_undecided_with_a_reason(gate, records, baseline, words):
    result = judge(gate, records, baseline)
    assert (result.state, result.interval) == ("undecided", None)
    assert words in result.reason
    assert exit_code([result]) == 11


@pytest.mark.parametrize(
    ("bound", "state", "words"),
    [
        # 1 of 20: the exact interval is .0013 to .2487.
        (
            "0.1",
            "holds",
            "so the gate holds for these cases although the interval of further cases",
        ),
        (
            "0.01",
            "fails",
            "so the gate fails for these cases although the interval of further cases",
        ),
        ("0.3", "holds", ""),
    ],
)
def test_a_count_says_why_its_interval_does_not_decide(bound, state, words):
    result = judge(f"d.no_answer <= {bound}", rows([1.0] * 19 + [None]))
    start = "1 of 20 cases has no answer (0.05); counts are judged without an interval"
    assert result.state == state
    assert exit_code([result]) == {"holds": 0, "fails": 10}[state]
    end = f", {words}, 0.0013 to 0.2487, contains the bound {bound}" if words else ""
    assert result.reason == start + end


def test_a_gate_on_a_benchmark_is_undecided_if_a_dataset_did_not_run():
    result = judge("torr.performance >= 0", rows([0.5] * 9), benchmarks={"torr": ["d", "e"]})
    assert (result.state, result.reason) == ("undecided", "no case of e was asked")


MISSING = {"e": "no files; get them with `tablebench pull e`"}


@pytest.mark.parametrize(
    ("gate", "shrunk"),
    [
        ("b.performance >= 0.1", True),
        ("b.performance >= baseline - 0.9", True),
        ("all.pass_rate >= 0.1", True),
        ("all.no_answer <= 0.5", True),
        ("d.performance >= 0.1", False),
        ("other.performance >= 0.1", False),
        ("run.cost <= 1", False),
    ],
)
@pytest.mark.parametrize("point", [False, True])
def test_a_scope_with_missing_files_is_not_judged_on_the_rest(gate, shrunk, point):
    """The baseline has the datasets d and e of a benchmark; the files of e are missing now."""
    both = rows([0.6] * 40, benchmark="b") + rows([0.6] * 40, dataset="f", benchmark="other")
    before = [*both, *rows([0.6] * 40, dataset="e", benchmark="b")]
    run = {"missing": MISSING, "cost_usd": 0.5}
    result = judge(gate, both, before, run=RunFacts.from_json(run), point=point)
    assert result.state == ("undecided" if shrunk else "holds")
    if shrunk:
        assert "the files of e are missing here, but the baseline has it" in result.reason
    # A run over selected datasets, or without a baseline, is judged on the cases asked.
    assert (
        judge(gate, both, before, run=RunFacts.from_json({"cost_usd": 0.5}), point=point).state
        == "holds"
    )
    if "baseline" not in gate:
        assert judge(gate, both, run=RunFacts.from_json(run), point=point).state == "holds"


def test_benchmarks_are_read_from_the_records():
    records = rows([0.2] * 4, benchmark="b") + rows([0.6] * 4, dataset="e", benchmark="b")
    assert judge("b.performance >= 0", records).value == pytest.approx(0.4)


def test_wrong_arguments_are_refused():
    with pytest.raises(SettingsError, match="--bench-baseline"):
        judge("d.performance >= baseline", rows([0.5]))
    with pytest.raises(SettingsError, match="--bench-baseline"):
        judge("run.cost <= baseline", rows([0.5]), run=RunFacts.from_json({"cost_usd": 1}))
    with pytest.raises(DataError, match="d/0/s/p occurs 2 times"):
        judge("d.performance >= 0", rows([0.5]) * 2)
    with pytest.raises(DataError, match="not from 0 to 1"):
        judge("d.performance >= 0", rows([1.5]))
    with pytest.raises(SettingsError, match="level"):
        judge("d.performance >= 0", rows([0.5]), level=95)
    with pytest.raises(SettingsError, match="correction"):
        judge("d.performance >= 0", rows([0.5]), correction="bonferroni")


def results_of(*states):
    records = rows([0.5] * 50)
    gates = {"holds": "d.performance >= 0.1", "fails": "d.performance >= 0.9",
             "undecided": "d.performance >= 0.5"}  # fmt: skip
    return judge_gates(records, [gates[state] for state in states])


@pytest.mark.parametrize(
    ("states", "code", "line"),
    [
        ([], 0, "The run has no gates."),
        (["holds"], 0, "The gate holds."),
        (["holds", "holds"], 0, "All 2 gates hold."),
        (["fails"], 10, "The gate fails."),
        (["undecided"], 11, "The gate is undecided."),
        (["holds", "undecided"], 11, "1 of 2 gates is undecided; none fails."),
        (["undecided", "fails", "holds"], 10, "1 of 3 gates fails; 1 is undecided."),
        (["fails", "fails"], 10, "2 of 2 gates fail."),
    ],
)
def test_the_exit_code_and_the_verdict_line_follow_from_the_states(states, code, line):
    results = results_of(*states)
    assert [result.state for result in results] == states
    assert exit_code(results) == code
    assert verdict_line(results) == line


def test_sign_flip_and_mcnemar_agree_with_exact_values():
    assert sign_flip([]) == sign_flip([0.0] * 5) == 1.0
    # All ten of one sign: 2 of 1,024 sign patterns reach the sum.
    assert sign_flip([0.1] * 10) == pytest.approx(2 / 1024, abs=0.002)
    assert sign_flip([0.1] * 10, seed=1) == sign_flip([0.1] * 10, seed=1)
    # Sums that differ by a rounding error are ties.
    assert sign_flip([0.1, -0.1]) == 1.0
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(0, 5) == pytest.approx(2 / 32)


unit = st.floats(0, 1, allow_nan=False)


@given(st.lists(st.tuples(unit, unit), min_size=2, max_size=12))
def test_the_interval_contains_the_estimate_in_any_order_of_records(pairs):
    new = rows([pair[0] for pair in pairs])
    old = rows([pair[1] for pair in pairs])
    for gate, base in (("d.performance >= 0.5", None), ("d.performance >= baseline", old)):
        result = judge(gate, new, base)
        low, high = result.interval
        assert low - 1e-9 <= result.value <= high + 1e-9
        assert judge(gate, new[::-1], base and base[::-1]) == result


@given(st.lists(unit, min_size=2, max_size=12), unit)
def test_at_most_mirrors_at_least(scores, bound):
    least = judge(f"d.performance >= {bound:.6f}", rows(scores))
    flipped = [1 - score for score in scores]
    most = judge(f"d.performance <= {1 - round(bound, 6):.6f}", rows(flipped))
    assert most.interval == pytest.approx((1 - least.interval[1], 1 - least.interval[0]), abs=1e-6)
    assert most.p == pytest.approx(least.p, abs=1e-6)


def test_turns_are_judged_by_their_mean_and_without_an_interval():
    records = [
        cell(n, 1.0, parts={"turns": turns, "calls_query": 0.0})
        for n, turns in enumerate((2.0, 4.0, 9.0))
    ]
    result = judge("d.turns <= 4", records)
    assert (result.value, result.state, result.interval) == (5.0, "fails", None)
    assert judge("d.turns <= 5", records).state == "holds"
    assert judge("d.calls_query <= 0", records).state == "holds"
    assert judge("d.turns <= baseline + 1", records, records).state == "holds"
