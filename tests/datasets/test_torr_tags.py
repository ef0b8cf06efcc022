"""Task, domain and skill of ToRR's datasets."""

from __future__ import annotations

from pathlib import Path

from pytest_tablebench.datasets.torr._common import ToRR
from pytest_tablebench.datasets.torr.wikitq import WikiTQ
from pytest_tablebench.running.builtins import builtin_registry
from tests.support import upstream

SKILLS = {"knowledge extraction", "textual reasoning", "numerical reasoning"}
"""The three skills of the paper."""


def test_every_dataset_of_torr_has_task_domain_and_skill():
    found = {
        name: one.tags()
        for name, one in builtin_registry().datasets.items()
        if one.benchmark == "torr" and isinstance(one, ToRR)
    }
    assert len(found) == 10
    assert all(list(tags) == ["task", "domain", "skill"] for tags in found.values())
    assert {tags["skill"] for tags in found.values()} == SKILLS
    assert found["finqa"] == {
        "task": "table QA",
        "domain": "finance",
        "skill": "numerical reasoning",
    }
    # The paper has six kinds of tasks.
    assert len({tags["task"] for tags in found.values()}) == 6


def test_each_example_has_the_tags_of_its_dataset(tmp_path: Path):
    source = WikiTQ().open(upstream.wikitq(tmp_path))
    tags = {"task": "table QA", "domain": "Wikipedia", "skill": "knowledge extraction"}
    assert source.example("q-2").tags == tags
    assert source.pool[0].tags == tags


def test_a_variant_outside_of_the_benchmark_has_the_tags_too():
    finqa_text = builtin_registry().datasets["finqa_text"]
    assert isinstance(finqa_text, ToRR)
    assert finqa_text.tags()["domain"] == "finance"
