"""Answers by kind: the examples of docs/own-tables.md, and what they do not say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import score
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics._typed_answer import KINDS, answer_kind

PAGE = Path(__file__).parents[2].joinpath("docs/own-tables.md").read_text(encoding="utf-8")
HEAD = "| answer | settings | reply | right |\n|---|---|---|---|\n"
FROM = {"free_text": 0.4}


def examples() -> list[tuple[str, ...]]:
    tables = [part.partition("\n\n")[0] for part in PAGE.split(HEAD)[1:]]
    rows = [line for table in tables for line in table.splitlines()]
    return [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]) for row in rows]


def told(settings: str) -> tuple[dict[str, Any], str | None]:
    """What the metric is told, and the alias, of one setting as the page writes it."""
    name, _, value = settings.partition("=")
    if not name:
        return {}, None
    if name == "aliases":
        return {}, value
    if name == "day_first":
        return {name: value == "yes"}, None
    return {"kind" if name == "metric" else name: value}, None


def test_the_page_has_examples_of_every_kind_right_and_wrong() -> None:
    found = set()
    for answer, settings, _, right in examples():
        context, _alias = told(settings)
        answers = [part.strip() for part in answer.split("\\|")]
        found.add((context.get("kind") or answer_kind(answers), right))
    assert found == {(kind, right) for kind in KINDS for right in ("yes", "no")}


@pytest.mark.parametrize("example", examples(), ids="-".join)
def test_an_example_of_the_page(example: tuple[str, ...]) -> None:
    answer, settings, reply, right = example
    context, alias = told(settings)
    answers = [part.strip() for part in answer.split("\\|")]
    if alias is not None:
        context["aliases"] = {answers[0]: [alias]}
    kind = context.get("kind") or answer_kind(answers, unit=context.get("unit", ""))
    value = score("typed_answer", reply, answers, **context).value
    assert (value >= FROM.get(kind, 1.0)) is (right == "yes")


@given(st.text(min_size=1, max_size=60))
def test_an_answer_given_word_for_word_is_right(answer: str) -> None:
    assert score("typed_answer", answer, [answer], kind="text").value == 1
    assert score("typed_answer", f"{answer}\nx", [f"y{answer}"], kind="text").value == 0


@given(st.integers(-(10**12), 10**12), st.sampled_from([".", ","]))
def test_a_number_is_its_value_with_and_without_thousands(number: int, decimal: str) -> None:
    written = f"{number:,}".replace(",", "," if decimal == "." else ".")
    for reply in (written, str(number), f"{number:,}".replace(",", " ")):
        told = {"kind": "number", "decimal": decimal}
        assert score("typed_answer", reply, [str(number)], **told).value == 1
        assert score("typed_answer", reply, [str(number + 1)], **told).value == 0


def test_free_text_is_scored_by_rouge() -> None:
    # Longest common subsequence `a b c` of 4 and 3 words: P 1, R 3/4, F 6/7.
    found = score("typed_answer", "a b c", ["a b c d"], kind="free_text")
    assert found.value == pytest.approx(6 / 7)


def test_part_of_a_list_is_seen() -> None:
    found = score("typed_answer", "tea", ["tea", "coffee"])
    assert found.value == 0
    assert found.parts["partial"] == pytest.approx(2 / 3)


def test_lines_with_bullets_are_items() -> None:
    assert score("typed_answer", "Answer:\n- tea\n- coffee", ["tea", "coffee"]).value == 1


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(SettingsError, match="unknown kind of answer 'nummer'; did you mean"):
        score("typed_answer", "1", ["1"], kind="nummer")


@pytest.mark.parametrize("reply", ["9" * 100_000, "1," * 50_000, "x" * 100_000, "", " \n "])
def test_replies_no_model_should_write_are_wrong_soon(reply: str) -> None:
    for answers in (["1234.5"], ["2024-03-05"], ["yes"], ["tea", "coffee"]):
        assert score("typed_answer", reply, answers).value == 0
