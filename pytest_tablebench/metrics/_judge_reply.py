r"""Reading what a judge says of an answer (spec: treb.md section 5, LLM_score)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from pytest_tablebench.metrics._thinking import after_thinking

HIGHEST = 10.0
"""Judges give 0 to 10."""

Status = Literal["ok", "empty_prediction", "not_a_number", "out_of_range"]

_BOX = "\\boxed{"
_END = re.compile(r"[}\n]")


@dataclass(frozen=True)
class Judged:
    """What a judge's reply came to: a score from 0 to 10, or why there is none."""

    status: Status
    score: float | None = None


def read_judgement(reply: str, prediction: str | None) -> Judged:
    r"""Read the first `\boxed{}` behind the thinking, as far as a slash (`fixed`).

    Of an empty prediction no reply is read. What is no number has a status of its own, so that it
    is no 0 among the scores.
    """
    if not prediction:
        return Judged("empty_prediction")
    number = _number(reply)
    if number is None or math.isnan(number):
        return Judged("not_a_number")
    if not 0 <= number <= HIGHEST:
        return Judged("out_of_range")
    return Judged("ok", number)


def reference_score(reply: str, prediction: str | None) -> float:
    r"""Return the score as `reference` takes it: 0 wherever there is none.

    Only of `\boxed{nan}` it is nan, and then so is the mean of a whole run.
    """
    judged = read_judgement(reply, prediction)
    if judged.status == "not_a_number" and _number(reply) is not None:
        return math.nan
    return judged.score or 0.0


def _number(reply: str) -> float | None:
    try:
        return float(_boxed(after_thinking(reply)).partition("/")[0])
    except ValueError:
        return None


def _boxed(text: str) -> str:
    """What the first box holds that ends on its line; nothing where none does."""
    place = 0
    while (start := text.find(_BOX, place)) >= 0 and (end := _END.search(text, start)):
        if end[0] == "}":
            return text[start + len(_BOX) : end.start()]
        # No box that begins before the line's end closes on it: each place is looked at once.
        place = end.end()
    return ""
