"""Questions about a table and its rearranged twin."""

from __future__ import annotations

import pytest

from pytest_tablebench import score

# Answers and the parts self, gold and both against the gold answer `north, 3`.
CASES = [
    (["North, 3", "north, 3"], 1, 1, 1),
    (["south", "south"], 1, 0, 0),
    (["south", "north, 3"], 0, 1, 0),
    (["north, 3", "south"], 0, 0, 0),
    (["", ""], 0, 0, 0),
]


@pytest.mark.parametrize(("answers", "own", "gold", "both"), CASES)
def test_the_option_selects_the_score_and_all_parts_are_present(
    answers: list[str], own: int, gold: int, both: int
) -> None:
    expected = {"self": own, "gold": gold, "both": both}
    for structure, value in expected.items():
        found = score("realhit_structure", answers, ["north, 3"], structure=structure)
        assert (found.value, found.part, found.parts["em"]) == (value, "em", value)
        assert {name: found.parts[f"em_{name}"] for name in expected} == expected


def test_the_lower_of_two_answers_counts_in_every_part() -> None:
    found = score("realhit_structure", ["north, 3", "north"], ["north, 3"])
    assert found.parts["f1"] == pytest.approx(2 / 3)


def test_without_a_gold_answer_only_consistency_counts() -> None:
    found = score("realhit_structure", ["a b", "a b"], [], structure="self")
    assert found.value == 1
    assert "em_gold" not in found.parts


def test_a_constant_wrong_answer_counts_as_consistent_in_the_published_code() -> None:
    answers = ["I cannot tell.", "I cannot tell."]
    found = score("realhit_structure", answers, ["3"], structure="self", compat="reference")
    assert (found.value, found.parts["em_both"]) == (1.0, 0.0)
