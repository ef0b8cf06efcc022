"""The history of runs: figures, intervals, changes, and folders that cannot be shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.claims.history import (
    RunHistory,
    history_of,
    read_places_of_runs,
)
from pytest_tablebench.results.folder import search_runs
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.present import present
from tests.support.run_folders import record, run_facts, write_run

DATA = {"files": {"toy.json": "0" * 64}, "notes": [], "problems": []}
OTHER = {"files": {"toy.json": "1" * 64}, "notes": [], "problems": []}


def written(path: Path, start: str, **facts: Any) -> Path:
    return write_run(path, {"e": [1.0, 1.0, 0.0, None]}, start=start, **facts)


def read(*places: Path) -> tuple[RunHistory, list[str]]:
    runs, problems = read_places_of_runs(map(str, places), repository=Path.cwd())
    return history_of(runs), problems


def texts(history: RunHistory, panel: int = 0) -> list[list[str]]:
    [points] = history.panels[panel].lines.values()
    return [[change.text for change in point.changes] for point in points]


def test_runs_are_in_the_order_of_their_start_whatever_their_zone(tmp_path: Path) -> None:
    written(tmp_path / "a", "2026-03-01T12:00:00+00:00")
    written(tmp_path / "x" / "b", "2026-03-01T12:30:00+02:00")  # 10:30 in UTC
    written(tmp_path / "x" / "y" / "c", "2026-03-01T11:00:00")  # without a zone: UTC
    history, problems = read(tmp_path)
    assert [run.path.name for run in history.runs] == ["b", "c", "a"]
    assert problems == []


def test_a_run_that_several_places_contain_counts_once(tmp_path: Path) -> None:
    run = written(tmp_path / "runs" / "a", "2026-03-01T12:00:00+00:00")
    history, _ = read(run, tmp_path / "runs", tmp_path)
    assert len(history.runs) == 1


def test_figures_and_intervals_are_those_of_the_summary(tmp_path: Path) -> None:
    scores: dict[str, list[float | None]]
    scores = {"e": [1.0, 1.0, 0.0, None], "f": [1.0, 1.0, 0.5, 1.0]}
    run = write_run(tmp_path / "a", scores, start="2026-03-01T12:00:00+00:00")
    scope = json.loads((run / "summary.json").read_text("utf-8"))["benchmarks"]["toys"]
    history, _ = read(run)
    [panel] = history.panels  # one dataset, so the benchmark has no panel
    [[point]] = panel.lines.values()
    for measure in ("performance", "pass_rate"):
        low, high = scope["ci95"][measure]
        assert point.figures[measure] == Estimate(scope[measure], low, high)
    # An eighth of two examples is a quarter of one example (Clopper and Pearson 1934).
    low, high = beta.ppf(0.025, 0.25, 2.75), beta.ppf(0.975, 1.25, 1.75)
    missing = point.figures["no_answer"]
    assert missing.value == 0.125
    assert (missing.low, missing.high) == pytest.approx((low, high))


def test_a_benchmark_of_several_datasets_has_a_panel_before_them(tmp_path: Path) -> None:
    both = [record("e", "csv", "none", 1.0, dataset=name) for name in ("toy", "more")]
    write_run(tmp_path / "a", both, start="2026-03-01T12:00:00")
    write_run(tmp_path / "b", both[:1], start="2026-03-02T12:00:00")
    history, _ = read(tmp_path)
    assert [(panel.kind, panel.name) for panel in history.panels] == [
        ("benchmark", "toys"),
        ("dataset", "more"),
        ("dataset", "toy"),
    ]
    assert texts(history) == [[], ["setting datasets: more, toy to toy"]]
    assert [len(panel.lines["m"]) for panel in history.panels] == [2, 1, 2]


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (
            {"datasets": {"toy": DATA}},
            {"datasets": {"toy": OTHER}},
            f"data of toy, files: toy.json {'0' * 12} to toy.json {'1' * 12}",
        ),
        ({"shots": 1}, {"shots": 5}, "prompt shots: 1 to 5"),
        ({"strategy": "direct"}, {"strategy": "tcot"}, "prompt strategy: direct to tcot"),
        (
            {"params": {"temperature": 0}},
            {"params": {"temperature": 1}},
            "parameter temperature: 0 to 1",
        ),
        (
            {"params_sent": {"temperature": 0, "seed": 1}},
            {"params_sent": {"seed": 1}},
            "parameter temperature as sent: 0 to not sent",
        ),
        (
            {"versions": {"pytest-tablebench": "0.1.0"}},
            {"versions": {"pytest-tablebench": "0.2.0"}},
            "package pytest-tablebench: 0.1.0 to 0.2.0",
        ),
        ({"limit": 10}, {"limit": 20}, "selection limit: 10 to 20"),
        (
            {"corrections": {"digest": "a1"}},
            {"corrections": {"digest": "b2"}},
            "corrections: a1 to b2",
        ),
        (
            {"model_file": {"name": "m.gguf", "sha256": "a"}},
            {"model_file": {"name": "m.gguf", "sha256": "b"}},
            'setting model file: {"name": "m.gguf", "sha256": "a"} to '
            '{"name": "m.gguf", "sha256": "b"}',
        ),
    ],
)
def test_a_change_is_named_in_words(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], text: str
) -> None:
    """The third run is equal to the second one, so only the second has a change."""
    for name, facts in (("a", before), ("b", after), ("c", after)):
        written(tmp_path / name, f"2026-03-01T12:00:00.{ord(name)}", **facts)
    history, _ = read(tmp_path)
    assert texts(history) == [[], [text], []]


def test_changes_are_between_runs_of_one_model_and_about_its_datasets(tmp_path: Path) -> None:
    shared: dict[str, Any] = {"datasets": {"toy": DATA, "more": DATA}}
    changed: dict[str, Any] = {"datasets": {"toy": DATA, "more": OTHER}}
    three, four = {**shared, "shots": 3}, {**shared, "shots": 4}
    order = [("m", shared), ("n", three), ("m", changed), ("n", four)]
    for number, (model, facts) in enumerate(order):
        written(tmp_path / str(number), f"2026-03-0{number + 1}T12:00:00", model=model, **facts)
    [panel] = read(tmp_path)[0].panels
    by_model = {
        model: [[c.text for c in point.changes] for point in points]
        for model, points in panel.lines.items()
    }
    assert by_model == {"m": [[], []], "n": [[], ["prompt shots: 3 to 4"]]}


def test_prices_are_per_thousand_paid_calls(tmp_path: Path) -> None:
    for day, cost, calls in ((1, 0.5, 200), (2, 0.0, 0), (3, None, 9)):
        start = f"2026-03-0{day}T12:00:00"
        written(tmp_path / str(day), start, cost_usd=cost, calls_paid=calls)
    assert read(tmp_path)[0].prices == {"m": [(0, 2.5), (1, None), (2, None)]}


TORN = {
    "torn": ('{"schema": 2, "mod', "run.json cannot be read: it is torn or damaged"),
    "list": ("[1]", "run.json is not a JSON object"),
    "deep": ("[" * 100_000, "run.json cannot be read: it is torn or damaged"),
    "foreign": ('{"schema": 1}', "run.json has no start"),
    "newer": ('{"schema": 99, "model": "m"}', "run.json has schema 99"),
    "undated": (
        '{"schema": 2, "model": "m"}',
        "run.json has no start, so the run has no place in the history",
    ),
}


def test_each_unusable_folder_has_a_line_and_the_others_are_shown(tmp_path: Path) -> None:
    run = written(tmp_path / "good", "2026-03-01T12:00:00")
    summary = (run / "summary.json").read_bytes()
    for name, (text, _) in TORN.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(text, encoding="utf-8")
        (tmp_path / name / "summary.json").write_bytes(summary)
    (tmp_path / "killed").mkdir()
    (tmp_path / "killed" / "run.json").write_bytes((run / "run.json").read_bytes())
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "records.jsonl").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "run.json").write_bytes((run / "run.json").read_bytes())
    (tmp_path / "empty" / "summary.json").write_text('{"benchmarks": {}}', encoding="utf-8")
    history, problems = read(tmp_path, tmp_path / "nowhere")
    assert len(history.runs) == 1
    for name, (_, fault) in TORN.items():
        [line] = [line for line in problems if line.startswith(f"{tmp_path / name}: ")]
        assert fault in line
    lines = {line.removeprefix(f"{tmp_path}/").partition(":")[0] for line in problems}
    assert lines == {*TORN, "killed", "half", "empty", "nowhere"}


def test_the_search_ends_at_runs_links_and_hidden_folders(tmp_path: Path) -> None:
    run = written(tmp_path / "a", "2026-03-01T12:00:00")
    written(run / "inside", "2026-03-02T12:00:00")
    written(tmp_path / ".hidden" / "b", "2026-03-02T12:00:00")
    deep = tmp_path.joinpath(*"123456789")
    written(deep, "2026-03-02T12:00:00")
    (tmp_path / "link").symlink_to(tmp_path)
    assert search_runs(tmp_path).runs == [run]
    assert search_runs(deep).runs == [deep]


NOISE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
SCOPE = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("performance", "pass_rate", "no_answer", "n_examples", "n_clusters", "ci95"), NOISE
    ),
)
ENTRIES = st.dictionaries(st.text(max_size=5), NOISE)
BY_NAME = st.dictionaries(st.text(max_size=5), ENTRIES)
FACTS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("params", "params_sent", "versions"), ENTRIES),
        **dict.fromkeys(("datasets", "by_dataset"), BY_NAME),
        "cost_usd": st.floats(allow_nan=False, allow_infinity=False),
        "calls_paid": st.integers(-(2**62), 2**62),
    },
)


def noisy(facts: dict[str, Any], datasets: dict[str, Any]) -> Run:
    run = Run(Path("p"), RunFacts.from_json({**run_facts(1, **facts), "model": "m"}))
    run.once("summary", lambda: {"benchmarks": {"b": {"datasets": datasets}}})
    return run


@given(st.lists(st.tuples(FACTS, st.dictionaries(st.text(max_size=3), SCOPE | NOISE)), max_size=3))
def test_figures_are_shares_inside_their_interval_whatever_the_files_contain(
    files: list[tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    runs = [noisy(facts, datasets) for facts, datasets in files]
    history = history_of(runs)
    points = [p for panel in history.panels for points in panel.lines.values() for p in points]
    for figure in (figure for point in points for figure in point.figures.values()):
        assert 0 <= present(figure.value) <= 1
        if figure.low is not None and figure.high is not None:
            assert 0 <= figure.low <= figure.high <= 1
    assert set(history.prices) == ({"m"} if runs else set())
