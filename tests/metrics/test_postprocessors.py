"""Post-processors of replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import postprocess, score_answer
from pytest_tablebench.metrics import POSTPROCESSORS
from pytest_tablebench.tables.table import Table


@given(st.sampled_from(sorted(POSTPROCESSORS)), st.text())
def test_postprocessors_accept_any_text(name: str, value: str) -> None:
    result = postprocess(name, value)
    assert isinstance(result, str) or all(isinstance(item, str) for item in result)


@pytest.mark.parametrize(
    ("reply", "cleaned"),
    [
        ("Answer: 5", "5"),
        ("The final answer is: five.", "five"),
        ("answer is 5", "5"),
        ("**Answer: 5**", "5"),
        ("**Answer:** 5", "5"),
        ("**Answer**: 5", "5"),
        ("**Answer:** **5**", "5"),
        ("Answer:**5**", "5"),
        ("**The final answer is 5.**", "5"),
        ("**The answer is** 5.", "5"),
        ("`Answer: 5`", "5"),
        ('"Answer: five".', "five"),
        ('**Answer**: "**5**"', "5"),
        ("**Answers** vary", "**Answers** vary"),
        ('"5"', "5"),
        ("“Lime Ridge”", "Lime Ridge"),
        ("**5**", "5"),
        ('**"5".**', "5"),
        ("3.5", "3.5"),
        ("and so on...", "and so on..."),
        ("Answers vary", "Answers vary"),
        ('"a" and "b"', '"a" and "b"'),
        ("", ""),
        ('"', '"'),
        ("'Tis", "'Tis"),
    ],
)
def test_the_answer_marker_is_removed(reply: str, cleaned: str) -> None:
    assert postprocess("strip_answer_marker", reply) == cleaned


@pytest.mark.parametrize("wrapped", ["Answer: {}", "**{}**", "`{}`.", "The answer is **{}**"])
def test_datasets_of_short_answers_ignore_wrappers(wrapped: str) -> None:
    vocabulary = ("music.artist", "people.person")
    for dataset, answer, context in (
        ("starter", "5", {}),
        ("wikitq", "Italy", {}),
        ("tabfact", "refuted", {}),
        ("finqa", "divide(1, 2)", {"table": Table(["a"], []), "answer": "0.5", "exe_ans": 0.5}),
        ("turl_cta", "music.artist, people.person", {"vocabulary": vocabulary}),
        ("tablebench_nr", "5", {}),
    ):
        reply = wrapped.format(answer)
        assert score_answer(dataset, reply, [answer], **context).value == 1, dataset
        if dataset != "starter":
            exact = score_answer(dataset, answer, [answer], compat="reference", **context)
            wrong = score_answer(dataset, reply, [answer], compat="reference", **context)
            assert wrong.value < exact.value or dataset == "tablebench_nr"
