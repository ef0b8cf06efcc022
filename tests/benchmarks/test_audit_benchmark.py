"""The measurement of the audit on real slices with injected wrong golds."""

from __future__ import annotations

import random

import pytest

from benchmarks.audit import RANKINGS, calibration, examples_of, measured, wrong_answers
from pytest_tablebench.datasets import Example
from tests.support.slices import ROOT, needs_slices

pytestmark = needs_slices("wikitq", "tabfact", "aitqa")


@pytest.fixture(scope="module")
def slices() -> dict[str, list[Example]]:
    return {name: examples_of(name, ROOT) for name in ("wikitq", "tabfact", "aitqa")}


def test_an_audit_beats_disagreement(slices: dict[str, list[Example]]) -> None:
    world = measured(slices, 0)
    figures = dict(zip(RANKINGS, world.rankings, strict=True))
    assert world.wrong >= 40
    audit, plain = figures["audit"], figures["disagreement"]
    assert audit["precision at 20"] >= plain["precision at 20"] + 0.1
    assert audit["precision at 50"] >= plain["precision at 50"]


def test_many_wrong_golds_are_suspected(slices: dict[str, list[Example]]) -> None:
    """A seventh of the golds is wrong: estimate and suspicions follow."""
    world = measured(slices, 1, share=0.15)
    assert world.injected == pytest.approx(0.15, abs=0.01)
    assert 0.09 <= world.estimated <= 0.18
    for _, count, suspicion, wrong in calibration(world.suspicions):
        # Four standard errors, and the error that benchmarks/RESULTS.md admits (.23).
        error = 4 * (suspicion * (1 - suspicion) / count) ** 0.5
        assert abs(wrong - suspicion) <= error + 0.25


def test_wrong_answers_differ_from_the_gold(slices: dict[str, list[Example]]) -> None:
    examples = slices["wikitq"]
    for example in examples[:30]:
        gold = ", ".join(example.references)
        answers = list(wrong_answers(example, examples, random.Random(1)))
        assert gold not in answers
        assert answers
