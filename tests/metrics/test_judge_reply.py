"""What TReB's judge says, by hand."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.metrics._judge_reply import Judged, read_judgement, reference_score

PIECES = [
    "\\boxed{",
    "boxed{",
    "}",
    "7",
    "/",
    "10",
    ".5",
    "nan",
    "-",
    "inf",
    "</think>",
    "\n",
    "８",
]


@pytest.mark.parametrize(
    ("reply", "judged"),
    [
        (r"Close. \boxed{7/10}", Judged("ok", 7.0)),
        (r"\boxed{1} no, \boxed{2}", Judged("ok", 1.0)),
        (r"\boxed{2}</think>\boxed{3}", Judged("ok", 3.0)),
        (r"\boxed{-0.5}", Judged("out_of_range")),
        (r"\boxed{inf}", Judged("out_of_range")),
        (r"\boxed{+NaN}", Judged("not_a_number")),
        (r"\boxed{--nan}", Judged("not_a_number")),
        ("\\boxed{1 \\boxed{2\n} \\boxed{3}", Judged("ok", 3.0)),
        (r"\boxed{/10}", Judged("not_a_number")),
        (r"\boxed{ 6.25 /10}", Judged("ok", 6.25)),
    ],
)
def test_a_reply_is_read(reply: str, judged: Judged) -> None:
    assert read_judgement(reply, "an answer") == judged
    expected = math.nan if "+NaN" in reply else judged.score or 0.0
    assert reference_score(reply, "an answer") == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("prediction", ["", None])
def test_nothing_is_not_judged(prediction: str | None) -> None:
    assert read_judgement(r"\boxed{9}", prediction) == Judged("empty_prediction")
    assert reference_score(r"\boxed{nan}", prediction) == 0


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text(max_size=40))
def test_any_reply_is_read(reply: str) -> None:
    judged = read_judgement(reply, "x")
    assert (judged.status == "ok") == (judged.score is not None)
    assert judged.score is None or 0 <= judged.score <= 10
    reference = reference_score(reply, "x")
    assert math.isnan(reference) or reference == (judged.score or 0)


@pytest.mark.parametrize("piece", ["\\boxed{", "{", "9", "</think>"])
def test_long_replies_are_read_quickly(piece: str) -> None:
    for reply in (piece * 100_000, f"\\boxed{{{piece * 100_000}}}"):
        start = time.process_time()
        read_judgement(reply, "x")
        assert time.process_time() - start < 5
