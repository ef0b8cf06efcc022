"""The measurement of the audit on real slices with injected wrong golds."""

from __future__ import annotations

import random

from benchmarks.audit import RANKINGS, examples_of, measured, wrong_answers
from tests.support.slices import ROOT, needs_slices

pytestmark = needs_slices("wikitq", "tabfact", "aitqa")


def test_an_audit_beats_disagreement() -> None:
    slices = {name: examples_of(name, ROOT) for name in ("wikitq", "tabfact", "aitqa")}
    count, rows = measured(slices, 0)
    figures = dict(zip(RANKINGS, rows, strict=True))
    assert count >= 40
    audit, plain = figures["audit"], figures["disagreement"]
    assert audit["precision at 20"] >= plain["precision at 20"] + 0.1
    assert audit["precision at 50"] >= plain["precision at 50"]


def test_wrong_answers_differ_from_the_gold() -> None:
    examples = examples_of("wikitq", ROOT)
    for example in examples[:30]:
        gold = ", ".join(example.references)
        answers = list(wrong_answers(example, examples, random.Random(1)))
        assert gold not in answers
        assert answers
