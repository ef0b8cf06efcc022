"""Which efforts a model takes, by litellm's own tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_tablebench.config.parameters import effort_params
from pytest_tablebench.datasets.case import cross
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.models import Resolution
from pytest_tablebench.models.litellm_facts import resolve
from pytest_tablebench.running.preflight import check_efforts

USUAL = {"temperature": 0, "max_tokens": 512}


def check(model: str, *efforts: str) -> None:
    def facts(name: str, _: str, effort: str) -> Resolution:
        return resolve(name, None, {**USUAL, **effort_params(effort)})

    models: Any = SimpleNamespace(
        engine_models=lambda: {model: None}, facts_about=facts, is_stored=lambda _: True
    )
    runner: Any = SimpleNamespace(settings=SimpleNamespace(efforts=efforts), models=models)
    cases, _ = cross("d", ["e"], ["csv"], ["none"], [model], efforts=efforts)
    check_efforts(runner, {model: cases})


@pytest.mark.parametrize(
    ("model", "efforts"),
    [
        ("openai/o3-mini", ("low", "medium", "high")),
        ("anthropic/claude-sonnet-4-5", ("none", "2048", "16000")),
        ("anthropic/claude-sonnet-4-5", ("none", "low", "high")),
        ("gemini/gemini-2.5-flash", ("none", "low", "high")),
        ("gemini/gemini-2.5-flash", ("none", "1024", "8192")),
        ("hosted_vllm/Qwen/Qwen3-8B", ("none", "high")),
        ("openai/gpt-4o-mini", ("low",)),
    ],
)
def test_efforts_that_differ_are_run(model: str, efforts: tuple[str, ...]) -> None:
    check(model, *efforts)


@pytest.mark.parametrize(
    ("model", "efforts", "reason"),
    [
        ("openai/gpt-4o-mini", ("none", "low"), "low is not sent: openai does not support"),
        ("openai/o3-mini", ("none", "1024"), "1024 is not sent"),
        ("deepseek/deepseek-reasoner", ("low", "high"), "low and high send the same request"),
    ],
)
def test_efforts_without_a_difference_are_refused(
    model: str, efforts: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        check(model, *efforts)
    text = str(caught.value)
    assert text.startswith(f"--bench-effort={','.join(efforts)}: {model} takes no such axis")
    assert reason in text
    assert text.endswith("Name a model that takes them, or one effort, or omit --bench-effort")


def test_the_short_names_of_efforts_follow_strategy_and_modality() -> None:
    cases, node_ids = cross(
        *("d", ["e"], ["csv"], ["none"], ["a/b", "a/c"]),
        strategies=["direct", "tcot"],
        efforts=["none", "2048"],
        repeats=2,
    )
    assert cases[0].case_id.startswith("d/e/csv/none/direct/none/a-b")
    assert len({case.case_id for case in cases}) == len(set(node_ids)) == len(cases) == 16
    assert {case.effort for case in cases} == {"none", "2048"}
    single, _ = cross("d", ["e"], ["csv"], ["none"], ["m"], efforts=["low"])
    assert [(case.case_id, case.effort) for case in single] == [("d/e/csv/none", "low")]
    assert type(single[0])(**single[0].values()) == single[0]
