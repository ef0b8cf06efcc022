"""Which differences of settings make runs unlike, and the messages about them."""

from __future__ import annotations

import json

import pytest

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.claims.differences import check_alike, differences_between
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results import Record
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.run_folders import GRID, record, run_facts, write_pair, write_run

BEFORE = {"e1": [1, 0, 0, 0], "e2": [1, 1, 1, 1], "e3": [0, 0, 0, 0]}
AFTER = {"e1": [1, 1, 0, 0], "e2": [1, 1, 1, 0], "e3": [1, 1, 1, 1]}

# What makes runs unlike


UNLIKE = {
    "compat": "reference",
    "seed": 1,
    "shots": 3,
    "demos": "fixed",
    "strategy": "tcot",
    "modality": "image",
    "configs_per_example": 2,
    "params": {"temperature": 1, "max_tokens": 512},
    "grid": {"serializers": ["csv"], "perturbations": ["none", "transpose"]},
    "datasets": {"toy": {"files": {"toy.json": "1" * 64}}},
}
NAMES = {
    "params": "params.temperature",
    "grid": "grid.serializers",
    "datasets": "datasets.toy.files",
}


@pytest.mark.parametrize("key", UNLIKE)
def test_unlike_runs_are_refused_unless_allowed_and_the_setting_is_named(tmp_path, key):
    folders = write_pair(tmp_path, BEFORE, AFTER, **{key: UNLIKE[key]})
    name = NAMES.get(key, key)
    with pytest.raises(SettingsError, match=rf"the runs are unlike: {name}: .*--allow-unlike"):
        compare_runs(*folders)
    comparison = compare_runs(*folders, allow_unlike=True)
    assert [difference.name for difference in comparison.unlike] == [name]
    assert comparison.remarks[0].startswith("the runs are unlike")


def test_thresholds_that_differ_make_runs_unlike():
    before, after = run_facts(1, thresholds={"toy": 1.0}), run_facts(1, thresholds={"toy": 0.5})
    with pytest.raises(SettingsError, match=r"thresholds\.toy: 1\.0 against 0\.5"):
        check_alike(RunFacts.from_json(before), RunFacts.from_json(after), hint="")


def test_thresholds_of_markers_are_read_from_the_records(tmp_path):
    runs = []
    for name, limit in (("a", 1.0), ("b", 0.5)):
        cases = [record("e1", *place, 1, threshold=limit) for place in GRID]
        runs.append(write_run(tmp_path / name, cases, thresholds={}))
    with pytest.raises(SettingsError, match=r"thresholds\.toy: 1\.0 against 0\.5"):
        compare_runs(*runs)


def test_a_threshold_that_one_run_did_not_record_is_no_difference(tmp_path):
    named = [record("e1", *place, 1, threshold=0.5) for place in GRID]
    silent = [record("e1", *place, 1) for place in GRID]
    runs = write_run(tmp_path / "a", named), write_run(tmp_path / "b", silent)
    assert compare_runs(*runs).differences == ()


def test_all_differences_are_named_at_once():
    with pytest.raises(SettingsError, match=r"compat: fixed against reference.*seed: 0 against 7"):
        check_alike(
            RunFacts.from_json(run_facts(1)),
            RunFacts.from_json(run_facts(1, compat="reference", seed=7)),
            hint="",
        )


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("model", "other", "model"),
        ("limit", 5, "limit"),
        ("sample", 5, "sample"),
        ("api_base", "http://localhost:1", "api_base"),
        (
            "versions",
            {"pytest-tablebench": "0.2.0", "spacy": "3.8.0"},
            "versions.pytest-tablebench",
        ),
    ],
)
def test_differences_that_do_not_make_runs_unlike_are_still_listed(tmp_path, key, value, name):
    first = write_run(tmp_path / "a", BEFORE, api_base=None)
    second = write_run(tmp_path / "b", AFTER, **{"api_base": None, key: value})
    comparison = compare_runs(first, second)
    assert [difference.name for difference in comparison.differences] == [name]
    assert comparison.unlike == ()


def test_the_order_of_the_grid_is_no_difference(tmp_path):
    grid = {"serializers": ["html", "csv"], "perturbations": ["transpose", "none"]}
    assert compare_runs(*write_pair(tmp_path, BEFORE, AFTER, grid=grid)).differences == ()


@pytest.mark.parametrize("key", ["compat", "seed", "grid", "datasets", "params"])
def test_a_setting_that_one_run_did_not_record_is_no_difference(tmp_path, key):
    first = write_run(tmp_path / "a", BEFORE)
    second = write_run(tmp_path / "b", AFTER)
    facts = json.loads((second / "run.json").read_text("utf-8"))
    del facts[key]
    (second / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    assert compare_runs(first, second).differences == ()


def test_unlike_grids_are_compared_on_their_common_configurations(tmp_path):
    # All answers in the format that only `after` has are wrong. They must not change robustness.
    wide = [*GRID, ("json", "none")]
    first = write_run(tmp_path / "a", {"e1": [1] * 4, "e2": [1] * 4})
    second = write_run(
        tmp_path / "b", {"e1": [1] * 4 + [0], "e2": [1] * 4 + [0]}, configurations=wide
    )
    comparison = compare_runs(first, second, allow_unlike=True)
    [toy] = [s for s in comparison.scopes if (s.kind, s.name) == ("dataset", "toy")]
    assert toy.measures["robustness"].value == 0.0
    assert comparison.only_after == ("toy/e1/json/none", "toy/e2/json/none")


def test_runs_without_a_common_case_are_refused_even_if_allowed(tmp_path):
    first = write_run(tmp_path / "a", [record("e", *GRID[0], 1, dataset="one")])
    second = write_run(tmp_path / "b", [record("e", *GRID[0], 1, dataset="two")])
    with pytest.raises(SettingsError, match="no case in common: 1 case in the first, 1 in"):
        compare_runs(first, second, allow_unlike=True)


def test_a_dataset_that_one_run_lacks_is_named(tmp_path):
    extra = [record("e", *GRID[0], 1, dataset="extra")]
    cases = [record(f"e{n}", *GRID[0], n % 2) for n in range(4)]
    comparison = compare_runs(
        write_run(tmp_path / "a", cases), write_run(tmp_path / "b", cases + extra)
    )
    assert (
        comparison.remarks[0]
        == "only after has extra: the means of benchmarks here do not include it"
    )
    assert [compared.name for compared in comparison.scopes if compared.kind == "dataset"] == [
        "toy"
    ]


def test_a_folder_without_a_run_is_refused(tmp_path):
    run = write_run(tmp_path / "a", BEFORE)
    with pytest.raises(SettingsError, match="is not a run folder"):
        compare_runs(run, tmp_path)


@pytest.mark.parametrize("score", [1.5, -1, "high", float("nan")])
def test_a_record_with_an_impossible_score_is_refused(tmp_path, score):
    run = write_run(tmp_path / "a", BEFORE)
    bad = record("e9", *GRID[0], 1, score=score)
    lines = (run / "records.jsonl").read_bytes() + bad.to_line().encode("ascii")
    (run / "records.jsonl").write_bytes(lines)
    with pytest.raises(SettingsError, match=r"toy/e9/csv/none has the score"):
        compare_runs(run, run)


def test_a_comparison_can_be_written_as_json(tmp_path):
    comparison = compare_runs(*write_pair(tmp_path, BEFORE, AFTER))
    content = json.loads(json.dumps(comparison.to_json(), allow_nan=False))
    assert content["schema"] == 2
    assert content["worse"] == ["toy/e2/html/transpose"]
    assert content["scopes"][1]["measures"]["performance"]["difference"] == pytest.approx(1 / 3)


# Datasets with different settings in one run


def facts_by_dataset(**datasets):
    """Return facts of a run with these settings by dataset."""
    return run_facts(1, by_dataset={name: dict(facts) for name, facts in datasets.items()})


ONE = {"shots": 5, "limit": 100, "serializers": ["html"], "params": {"max_tokens": 512}}
OTHER = {"shots": 1, "limit": 100, "serializers": ["html"], "params": {"max_tokens": 4096}}


def test_a_setting_from_an_option_equals_the_same_setting_declared_by_a_dataset():
    before, after = facts_by_dataset(a=ONE, b=OTHER), facts_by_dataset(a=ONE)
    # Only one run was given the option, and only one ran `b`.
    assert (
        differences_between(
            RunFacts.from_json({**before, "shots": None}),
            RunFacts.from_json({**after, "shots": 5, "limit": 100}),
        )
        == ()
    )


def test_a_difference_names_its_dataset_unless_it_applies_to_all():
    differences = differences_between(
        RunFacts.from_json(facts_by_dataset(a=ONE, b=OTHER)),
        RunFacts.from_json(facts_by_dataset(a=ONE, b={**OTHER, "shots": 2})),
    )
    assert [
        (difference.name, difference.before, difference.after) for difference in differences
    ] == [("shots of b", "1", "2")]
    tokens = {"params": {"max_tokens": 99}}
    differences = differences_between(
        RunFacts.from_json(facts_by_dataset(a=ONE, b=ONE)),
        RunFacts.from_json(facts_by_dataset(a={**ONE, **tokens}, b={**ONE, **tokens})),
    )
    assert [
        (difference.name, difference.before, difference.after) for difference in differences
    ] == [("params.max_tokens", "512", "99")]
    changed = {**ONE, "serializers": ["html", "csv"]}
    with pytest.raises(SettingsError, match=r"grid\.serializers of a: html against csv, html"):
        check_alike(
            RunFacts.from_json(facts_by_dataset(a=ONE, b=ONE)),
            RunFacts.from_json(facts_by_dataset(a=changed, b=ONE)),
            hint="",
        )


def test_another_main_score_makes_runs_unlike():
    with pytest.raises(SettingsError, match="part: the metric's own against f1"):
        check_alike(
            RunFacts.from_json(facts_by_dataset(a={"part": None})),
            RunFacts.from_json(facts_by_dataset(a={"part": "f1"})),
            hint="",
        )


def test_the_common_effort_of_a_run_with_several_is_compared(tmp_path):
    def cases(*efforts: str) -> list[Record]:
        return [
            record(example, "html", "none", float(effort == "high"), tail=tail, effort=effort)
            for example in ("e1", "e2", "e3")
            for effort in efforts
            for tail in ([f"/{effort}"] if len(efforts) > 1 else [""])
        ]

    both = write_run(tmp_path / "both", cases("low", "high"))
    high = write_run(tmp_path / "high", cases("high"))
    comparison = compare_runs(both, high, allow_unlike=True)
    [dataset] = [scope for scope in comparison.scopes if scope.kind == "dataset"]
    performance = dataset.measures["performance"]
    assert (performance.before, performance.after, performance.examples) == (1.0, 1.0, 3)


def test_runs_with_one_serializer_each_are_paired(tmp_path):
    grid, tools = [("html", "none"), ("html", "p")], [("columns", "none"), ("columns", "p")]
    before = write_run(tmp_path / "a", {"e1": [0, 0], "e2": [1, 1]}, configurations=grid)
    after = write_run(tmp_path / "b", {"e1": [1, 1], "e2": [1, 0]}, configurations=tools)
    comparison = compare_runs(before, after, allow_unlike=True)
    assert len(comparison.better) == 2
    assert comparison.worse == ("toy/e2/columns/p",)
