"""Examples that share a table: every interval treats tables, not examples, as independent.

Figures by hand from section 1 of the statistics page: with r = x - mean,
SE^2 = G/(G-1) * sum over tables of (sum of r)^2 / n^2, and G - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from scipy.special import stdtrit

from benchmarks.shared_tables import PER_TABLE, TABLES, rates
from pytest_tablebench.claims.estimate import level_bounds, moments
from pytest_tablebench.claims.gates import judge_gates, plan_gates
from pytest_tablebench.claims.gates._power import assumed_sd, smallest_drop
from pytest_tablebench.claims.outliers import outliers
from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.reports.scores import cluster_lines
from pytest_tablebench.results import Record, ScoreTable
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.present import present

TABLE = "aabb"
VALUES = (0.2, 0.2, 0.6, 0.6)
"""Two tables of two equal examples each: G = 2, SE^2 = 2 * ((-.4)^2 + .4^2) / 16 = .04."""


def record(number, score, table, **fields):
    values = {
        "model": "m",
        "benchmark": "d",
        "dataset": "d",
        "serializer": "html",
        "perturbation": "none",
        "strategy": "direct",
        "modality": "text",
    } | fields
    return Record(
        case_id=f"{values['dataset']}/e{number:03}/{values['serializer']}/{values['perturbation']}",
        example_id=f"e{number:03}",
        outcome="right" if score >= 0.5 else "wrong",
        score=score,
        passed=score >= 0.5,
        raw=f"{number} {score}",
        cluster=table,
        **values,
    )


def run(values=VALUES, tables=TABLE, **fields):
    pairs = zip(values, tables or [None] * len(values), strict=True)
    return [record(number, score, table, **fields) for number, (score, table) in enumerate(pairs)]


def test_a_record_keeps_its_cluster_and_a_record_of_schema_1_has_none():
    original = record(0, 1.0, "csv/1.csv")
    assert Record.from_line(original.to_line()).cluster == "csv/1.csv"
    assert (
        Record.from_line(original.to_line().replace('"cluster": "csv/1.csv", ', "")).cluster is None
    )
    with pytest.raises(ValueError, match="cluster"):
        Record.from_line(original.to_line().replace('"cluster": "csv/1.csv"', '"cluster": 3'))


def test_a_gate_treats_tables_as_independent():
    [named] = judge_gates(run(), ["d.performance >= 0"])
    assert named.se == pytest.approx(math.sqrt(0.04))
    assert (named.df, named.examples, named.clusters) == (1, 4, 2)
    assert "examples use 2 tables" in " ".join(named.notes)
    [unnamed] = judge_gates(run(tables=None), ["d.performance >= 0"])
    assert unnamed.se == pytest.approx(math.sqrt(0.16 / 3 / 4))
    assert (unnamed.df, unnamed.clusters) == (3, None)


def test_all_figures_of_a_summary_treat_tables_as_independent():
    records = [replace(case, parts={"f1": case.score}, tags={"k": "v"}) for case in run()]
    records = [replace(case, checks={"test_it": case.passed}) for case in records]
    scope = summarize(records)["benchmarks"]["d"]["datasets"]["d"]
    low, high, _ = level_bounds(present(moments([VALUES], [TABLE])))
    for figures in (scope, scope["tags"]["k"]["values"]["v"], scope["serializers"]["html"]):
        assert figures["ci95"]["performance"] == pytest.approx([low, high])
        assert figures["n_clusters"] == 2
    assert scope["parts"]["f1"]["ci95"] == pytest.approx([low, high])
    passed = level_bounds(present(moments([(0, 0, 1, 1)], [TABLE])))[:2]
    assert scope["ci95"]["pass_rate"] == pytest.approx(passed)
    assert scope["checks"]["test_it"]["ci95"] == pytest.approx(passed)


def test_examples_that_all_share_one_table_count_as_independent():
    alone = summarize(run(tables=None))["benchmarks"]["d"]
    single_table = summarize(run(tables="tttt"))["benchmarks"]["d"]
    assert (single_table["ci95"], single_table["n_clusters"]) == (alone["ci95"], 1)
    [gate] = judge_gates(run(tables="tttt"), ["d.performance >= 0"])
    assert (gate.df, gate.clusters) == (3, 1)
    assert "use one table" in " ".join(gate.notes)


def test_a_slice_with_one_of_several_tables_has_no_interval():
    kinds = ({"k": "x"}, {"k": "x"}, {"k": "y"}, {"k": "y"})
    records = [replace(case, tags=tags) for case, tags in zip(run(), kinds, strict=True)]
    slices = summarize(records)["benchmarks"]["d"]["datasets"]["d"]["tags"]["k"]["values"]
    assert slices["x"]["ci95"]["performance"] is None
    [gate] = judge_gates(records, ["d{k=x}.performance >= 0"])
    assert (gate.state, gate.interval) == ("undecided", None)
    assert "all 2 examples use one table" in gate.reason


def test_datasets_with_common_tables_are_not_independent():
    # Each dataset: v = .04. Disjoint: (.04 + .04) / 4. With the same tables and the same residuals
    # the cluster sums add up: sqrt(2) / (4 * 2) * (-.4 - .4) each, squared, twice.
    apart = present(moments([VALUES, VALUES], [TABLE, "ccdd"]))
    assert apart.variance == pytest.approx(0.02)
    assert (apart.df, apart.size) == (2, 4)
    shared = present(moments([VALUES, VALUES], [TABLE, TABLE]))
    assert shared.variance == pytest.approx(2 * (math.sqrt(2) / 8 * 0.8) ** 2)
    assert shared.df == 1
    assert shared.size == pytest.approx(2)
    opposite = present(moments([VALUES, VALUES[::-1]], [TABLE, TABLE]))
    assert opposite.variance == pytest.approx(0)
    records = [*run(benchmark="b"), *run(benchmark="b", dataset="e")]
    scope = summarize(records)["benchmarks"]["b"]
    assert scope["n_clusters"] == 2
    assert scope["ci95"]["performance"] == pytest.approx(level_bounds(shared)[:2])


def test_a_comparison_flips_signs_and_computes_intervals_by_table(tmp_path):
    from pytest_tablebench.claims.compare import compare_runs
    from pytest_tablebench.results.run import Run

    def loaded(name, values, tables="aaabbbccc"):
        folder = tmp_path / name
        folder.mkdir()
        lines = [case.to_line() for case in run(values, tables)]
        folder.joinpath("records.jsonl").write_text("".join(lines))
        return Run(folder, RunFacts.from_json({"model": "m", "cases_planned": 9}))

    before = [0.0] * 9
    after = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]
    comparison = compare_runs(loaded("old", before), loaded("new", after))
    [dataset] = [scope for scope in comparison.scopes if scope.kind == "dataset"]
    difference = dataset.measures["pass_rate"]
    # Sums of residuals: 3 - 5/3, 0 - 5/3, 2 - 5/3, so SE^2 = 3/2 * (16 + 25 + 1) / 9 / 81.
    error = math.sqrt(1.5 * 42 / 9 / 81)
    reach = stdtrit(2, 0.975) * error
    # No difference is above 1.
    assert difference.interval == pytest.approx((5 / 9 - reach, min(1.0, 5 / 9 + reach)))
    assert (difference.examples, difference.clusters) == (9, 3)
    # Signs of sums 3 and 2 flip together with their tables: half of the draws reach 5.
    assert difference.test == "sign-flip over tables"
    assert difference.p == pytest.approx(0.5, abs=0.03)
    [cell] = comparison.configurations
    assert (cell.better, cell.worse, cell.test) == (5, 0, "sign-flip over tables")
    assert cell.p == pytest.approx(0.5, abs=0.03)  # exact McNemar over five flips says .0625
    assert comparison.remarks == ()

    older = compare_runs(loaded("older", before, None), loaded("newer", after, None))
    [dataset] = [scope for scope in older.scopes if scope.kind == "dataset"]
    assert dataset.measures["pass_rate"].test == "exact McNemar"
    assert "neither run names the tables of d" in older.remarks[-1]
    # One run with clusters is enough: the examples are the same.
    mixed = compare_runs(loaded("old-2", before, None), loaded("new-2", after))
    assert mixed.configurations[0].test == "sign-flip over tables"


def test_outliers_are_judged_by_table():
    # Three of twelve tables are all wrong, and one kind of question is asked about these only.
    tables = [f"t{number // 10}" for number in range(120)]
    values = [float(number >= 30 and number % 10 != 0) for number in range(120)]
    tags = [{"kind": "lost" if number < 30 else "kept"} for number in range(120)]
    named, unnamed = (
        [
            replace(case, tags=case_tags)
            for case, case_tags in zip(run(values, places), tags, strict=True)
        ]
        for places in (tables, None)
    )
    by_table, by_example = (
        {outlier.name for outlier in outliers(ScoreTable.from_records(records))}
        for records in (named, unnamed)
    )
    assert "lost" in by_example
    assert "lost" not in by_table


class Planned:
    dataset, serializer, perturbation, repeat = "d", "html", "none", 1

    def __init__(self, number):
        self.example_id = f"e{number:03}"


def test_the_plan_assumes_a_larger_spread_for_shared_tables():
    cases = [Planned(number) for number in range(120)]
    clusters = {"d": {case.example_id: place // 10 for place, case in enumerate(cases)}}
    gate = "d.performance >= 0.9"
    [apart] = plan_gates([gate], cases)
    [shared] = plan_gates([gate], cases, clusters=clusters)
    # Ten examples per table with correlation .15: the variance is 1 + 9 * .15 times as large.
    spread = assumed_sd(1, paired=False)
    assert apart.smallest_drop == pytest.approx(smallest_drop(120, spread))
    assert shared.smallest_drop == pytest.approx(
        smallest_drop(120, spread * math.sqrt(2.35), df=11)
    )
    assert "120 examples over 12 tables" in shared.text
    [single] = plan_gates([gate], cases, clusters={"d": dict.fromkeys(clusters["d"], "t")})
    assert single.smallest_drop == apart.smallest_drop


def test_the_plan_takes_the_spread_of_an_earlier_run_by_table():
    cases = [Planned(number) for number in range(8)]
    clusters = {"d": {case.example_id: place // 2 for place, case in enumerate(cases)}}
    history = run((0, 0, 1, 1, 0, 1, 1, 1), "aabbccdd")
    [planned] = plan_gates(["d.performance >= 0.9"], cases, [history], clusters=clusters)
    # Residual sums by table -5/4, 3/4, -1/4, 3/4: SE^2 = 4/3 * (25 + 9 + 1 + 9) / 16 / 64.
    error = math.sqrt(4 / 3 * 44 / 16 / 64)
    quantiles = stdtrit(3, 0.975) + stdtrit(3, 0.8)
    assert planned.s_d == pytest.approx(error * math.sqrt(8))
    assert f"{100 * quantiles * error:.1f} points" in planned.text


def test_intervals_of_no_answer_are_by_table_too():
    lost = [
        replace(case, score=None, passed=None, outcome="no_answer", reason="timeout")
        if case.cluster == "a"
        else case
        for case in run(VALUES * 5, "aabb" + "ccdd" + "eeff" + "gghh" + "iijj")
    ]
    [gate] = judge_gates(lost, ["d.no_answer <= 0.5"])
    [apart] = judge_gates([replace(case, cluster=None) for case in lost], ["d.no_answer <= 0.5"])
    assert present(gate.effective_interval)[1] > present(apart.effective_interval)[1]


def test_the_terminal_names_what_intervals_treat_as_independent():
    [line] = cluster_lines(summarize(run()))
    assert line.startswith("d: 4 examples over 2 tables")
    [line] = cluster_lines(summarize(run(tables=None)))
    assert "the records do not name the tables of d" in line
    [line] = cluster_lines(summarize(run(tables="tttt")))
    assert "all examples of d are over one table" in line
    assert cluster_lines(summarize(run(tables="abcd"))) == []
    assert cluster_lines(summarize([])) == []


@pytest.mark.slow
def test_intervals_cover_the_true_mean_where_tables_are_shared():
    """Run `python -m benchmarks.shared_tables` at a reduced size."""
    assert TABLES * PER_TABLE == 120
    named, unnamed = (rates(0.3, named=named, runs=80, seed=1) for named in (True, False))
    assert named.coverage >= 0.95
    assert named.holds <= 0.025
    # 2.5 % and three standard errors.
    assert named.fails <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 80)
    assert unnamed.coverage < 0.85
    assert unnamed.holds > 0.05
