"""A metric of another package: a judge says whether an answer means what is expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tablebench.extend import Ask, Judgement, Message, NotJudgedError, Reply, Score


def same_meaning(prediction: str, references: Sequence[str], **_: Any) -> Judgement:
    """Ask the judge only where the words differ; without a judge, words are all there is."""
    same = float(prediction in references)
    if same:
        return Score(1.0, {"words": 1.0, "meaning": 1.0}, "meaning")
    expected = " or ".join(references)
    question = f"Expected: {expected}\nAnswer: {prediction}\nIs it the same? Say yes or no."
    try:
        reply = yield Ask((Message("user", question),))
    except NotJudgedError:
        if not prediction:  # nothing was said: no judge is needed to see that
            return Score(0.0, {"words": 0.0, "meaning": 0.0}, "meaning")
        raise
    assert isinstance(reply, Reply)
    meaning = float(reply.text.strip().lower().startswith("yes"))
    return Score(meaning, {"words": same, "meaning": meaning}, "meaning")


def pytest_tablebench_register_metric(register):
    register("same_meaning", same_meaning)
