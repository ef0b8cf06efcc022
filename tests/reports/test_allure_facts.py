"""Files beside Allure's results: environment and categories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.reports.allure._write import categories, dataset_figures, environment_text
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.allure_results import make, results, write


def test_the_environment_lists_the_settings_of_the_run() -> None:
    run: dict[str, Any] = {
        "model": "openai/gpt=x: y",
        "api_base": "http://me:secret@host/v1?key=secret",
        "params": {"temperature": 0},
        "grid": {"serializers": ["html", "csv"], "perturbations": ["none"]},
        "datasets": {"wikitq": {}},
        "versions": {"pytest": "9.2.0", "litellm": None},
        "host": {"system": "Linux"},
        "cost_usd": None,
        "seed": 0,
    }
    assert environment_text(RunFacts.from_json(run), "wrong").splitlines() == [
        "model=openai/gpt=x: y",
        "api_base=http://host/v1?sha256:009c593cdd9d",
        "seed=0",
        'params={"temperature": 0}',
        "serializers=html, csv",
        "perturbations=none",
        "datasets=wikitq",
        "allure=wrong",
        "version.pytest=9.2.0",
        "host.system=Linux",
    ]


def test_the_environment_has_pass_rate_and_robustness_of_each_dataset() -> None:
    scores = {"csv": (1.0, 0.25), "html": (0.5, 0.75)}
    records = [
        replace(make(str(number), config=f"{name}/none"), score=score, passed=score == 1)
        for name, row in scores.items()
        for number, score in enumerate(row)
    ]
    figures = dataset_figures(summarize(records))
    # Both examples range by .5 over the two serializers, and one case of four is right.
    text = "25.0 % right, range 0.500 (robustness 0.500)"
    assert figures == {"wikitq": text}
    run = RunFacts.from_json({"model": "m", "seed": 0})
    lines = environment_text(run, "all", figures=figures).splitlines()
    assert lines[:3] == ["model=m", f"dataset.wikitq={text}", "seed=0"]
    single = dataset_figures(summarize(records[:2]))["wikitq"]
    assert single.endswith("no robustness: one configuration")


def test_a_summary_of_configurations_shows_the_figures_of_the_dataset(tmp_path: Path) -> None:
    write(tmp_path, [make("a")], "summary", figures={"wikitq": "100.0 % right"})
    [result] = results(tmp_path).values()
    assert result["description"] == "100.0 % right"


@given(st.text(max_size=40))
def test_any_value_stays_on_one_line_of_the_environment(text: str) -> None:
    written = environment_text(RunFacts.from_json({"model": f"x{text}"}), "all")
    assert written.isascii()
    assert [line.split("=")[0] for line in written.splitlines()] == [
        "model",
        "allure",
    ]


def test_lines_of_other_tools_in_the_environment_are_kept() -> None:
    before = "browser=chromium\nmodel=old\n"
    assert environment_text(RunFacts.from_json({"model": "é\\"}), "all", before).splitlines() == [
        "browser=chromium",
        "model=\\u00e9\\\\",
        "allure=all",
    ]


def test_each_reason_has_a_category_in_order() -> None:
    names = [rule["name"] for rule in categories(["timeout", "budget", "timeout"])]
    assert names[4:] == ["No answer: budget", "No answer: timeout"]
