"""Task, domain and skill of ToRR's datasets, and the limit of their rows."""

from __future__ import annotations

from pathlib import Path

from pytest_tablebench.datasets.torr._common import SOURCE_LIMIT, ToRR
from pytest_tablebench.datasets.torr.wikipedia import WikiTQ
from pytest_tablebench.running.builtins import builtin_registry
from tests.support import upstream

SKILLS = ["knowledge extraction", "textual reasoning", "numerical reasoning"]
"""The three skills of the paper."""


def test_every_dataset_of_torr_has_task_domain_and_skill():
    found = {
        name: one.tags()
        for name, one in builtin_registry().datasets.items()
        if one.benchmark == "torr" and isinstance(one, ToRR)
    }
    assert len(found) == 10
    assert all(list(tags) == ["task", "domain", *SKILLS] for tags in found.values())
    # The paper's Table 1: how many datasets require each skill, partly or not.
    values = [[tags[skill] for tags in found.values()] for skill in SKILLS]
    levels = ("required", "partly", "not required")
    assert [[row.count(level) for level in levels] for row in values] == [
        [7, 3, 0],
        [6, 3, 1],
        [3, 4, 3],
    ]
    assert found["finqa"] == {
        "task": "table QA",
        "domain": "finance",
        **dict.fromkeys(SKILLS, "required"),
    }
    # The paper has six kinds of tasks.
    assert len({tags["task"] for tags in found.values()}) == 6


def test_each_example_has_the_tags_of_its_dataset(tmp_path: Path):
    source = WikiTQ().open(upstream.wikitq(tmp_path))
    tags = {
        "task": "table QA",
        "domain": "Wikipedia",
        "knowledge extraction": "required",
        "textual reasoning": "required",
        "numerical reasoning": "partly",
    }
    assert source.example("q-2").tags == tags
    assert source.pool[0].tags == tags


def test_a_variant_outside_of_the_benchmark_has_the_tags_too():
    finqa_text = builtin_registry().datasets["finqa_text"]
    assert isinstance(finqa_text, ToRR)
    assert finqa_text.tags()["domain"] == "finance"


def test_10000_rows_of_a_file_are_read():
    assert SOURCE_LIMIT == 10_000  # spec: torr.md section 1; each dataset's tests lower it
