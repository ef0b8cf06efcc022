"""Marks in replies of judges."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.metrics.judge_reply import (
    Judged,
    read_judgement,
    read_score,
    reference_score,
)

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
    "[Score]: ",
    " to ",
    "\\text{",
]


@pytest.mark.parametrize(
    ("reply", "judged"),
    [
        (r"Close. \boxed{7/10}", Judged("ok", 7.0)),
        (r"\boxed{2}</think>\boxed{3}", Judged("ok", 3.0)),
        (r"\boxed{-0.5}", Judged("out_of_range")),
        (r"\boxed{11}", Judged("out_of_range")),
        (r"\boxed{+NaN}", Judged("not_a_number")),
        (r"\boxed{--nan}", Judged("not_a_number")),
        ("\\boxed{1 \\boxed{2\n} \\boxed{3}", Judged("ok", 3.0)),
        (r"\boxed{/10}", Judged("not_a_number")),
        (r"\boxed{ 6.25 /10}", Judged("ok", 6.25)),
    ],
)
def test_both_modes_read_a_plain_mark(reply: str, judged: Judged) -> None:
    assert read_judgement(reply, "an answer") == judged
    expected = math.nan if "+NaN" in reply else judged.score or 0.0
    assert reference_score(reply, "an answer") == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("reply", "published", "mark"),
    [
        (r"\boxed{1} no, \boxed{2}", 1, 2),
        (r"\boxed{\text{8}}", 0, 8),
        (r"\boxed{\mathbf{8.5}}", 0, 8.5),
        (r"\boxed{**8**}", 0, 8),
        (r"\boxed{8 points}", 0, 8),
        (r"\boxed{8分}", 0, 8),
        (r"\boxed{8 out of 10}", 0, 8),
        (r"\boxed{Score: 8}", 0, 8),
        (r"\boxed{\frac{7}{10}}", 0, 7),
        (r"\boxed{80/100}", 0, 8),  # 80 is above 10 as published
        (r"\boxed{85}/100", 0, 8.5),
        (r"\boxed{7} out of \boxed{10}", 7, 7),
        (r"The scale is \boxed{0} to \boxed{10}. Score: \boxed{7}", 0, 7),
        (r"\boxed{7} (on a scale of \boxed{0} to \boxed{10})", 7, 7),
        (r"Between $\boxed{0}$ and $\boxed{10}$ it is $\boxed{6}$.", 0, 6),
        (r"\boxed{9} is too much: \boxed{11}", 9, None),
        (r"\boxed{1_0}", 10, None),
        (r"\boxed{1e1}", 10, None),
        (r"\boxed{7-8}", 0, None),
        (r"\boxed{7\%}", 0, None),
        (r"\boxed{80%}", 0, 8),
        (r"\boxed{80\%}", 0, 8),
        (r"\boxed {8}", 0, 8),
        (r"\Boxed{8}", 0, 8),
        ("\\boxed{\n8\n}", 0, 8),
        ("\\boxed{8\n\nand more}", 0, None),
        (r"\boxed{'8'}", 0, 8),
        (r'\boxed{"8"}', 0, 8),
        (r"\boxed{7th}", 0, None),
    ],
)
def test_marks_from_0_to_10_are_read(reply: str, published: float, mark: float | None) -> None:
    assert read_judgement(reply, "an answer").score == mark
    assert reference_score(reply, "an answer") == published


@pytest.mark.parametrize(
    ("reply", "mark"),
    [
        ("[Score]: **85/100**", 85),
        ("**[Score]:** 85/100", 85),
        ("**[Score]**: 85/100", 85),
        ("[score]: 85/100", 85),
        ("[SCORE]\uff1a\uff18\uff15分", 85),
        ("[Score]: [85/100]", 85),
        ("[Score]: 85 (nearly right)", 85),
        ("[Score]: 85.", 85),
        ("[Score]: 85%", 85),
        ("[Score]: 85\nIt names the trend.", 85),
        ("[Score]: '85'", 85),
        ("[Score]: 85,5/100", 85.5),
        ("[Score]: 7/10", 70),
        ("[Score]: 8.5/10", 85),
        ("[Score]: 4 out of 5", 80),
        (r"[Score]: $\frac{9}{10}$", 90),
        ("**Score:** 85/100", 85),
        ("Score (0-100): 85", 85),
        ("[Score]: 20/100, no: [Score]: 90/100", 90),
        ("[Score]: 90/100. Asked for was [Score]: xx/100", 90),
        ("[Score]: 0 to 100 is the scale. [Score]: 64", 64),
        ("[Score]: 90/100, no: [Score]: 190/100", None),
        ("[Score]: 80-85/100", None),
        ("[Score]: 1_0/100", None),
        ("[Score]: 1e1", None),
        ("[Score]: 85th", None),
        ("[Score]: 4/0", None),
        ("Score: 1/100 [Score]: 2", 2),
        ("[Score]: 100.5/100", None),
        ("[Score]: 1e999", None),
        ("85/100", None),
        ("85", None),  # no marker, no score
        ("Underscore: 85", None),
    ],
)
def test_marks_from_0_to_100_are_read(reply: str, mark: float | None) -> None:
    assert read_score(reply) == mark


@pytest.mark.parametrize("prediction", ["", None])
def test_an_empty_prediction_is_not_judged(prediction: str | None) -> None:
    assert read_judgement(r"\boxed{9}", prediction) == Judged("empty_prediction")
    assert reference_score(r"\boxed{nan}", prediction) == 0


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text(max_size=40))
def test_any_reply_is_read(reply: str) -> None:
    judged = read_judgement(reply, "x")
    assert (judged.status == "ok") == (judged.score is not None)
    assert judged.score is None or 0 <= judged.score <= 10
    reference = reference_score(reply, "x")
    assert math.isnan(reference) or 0 <= reference <= 10
    mark = read_score(reply)
    assert mark is None or 0 <= mark <= 100


@pytest.mark.parametrize(
    "piece", ["\\boxed{", "\\boxed{7} to ", "{", "9", " ", "[Score]: ", "</think>"]
)
def test_long_replies_are_read_quickly(piece: str) -> None:
    for reply in (piece * 25_000, f"\\boxed{{{piece * 25_000}}}"):
        start = time.process_time()
        read_judgement(reply, "x")
        read_score(reply)
        assert time.process_time() - start < 5
