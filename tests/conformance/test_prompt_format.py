"""How instruction, demonstrations and source become one prompt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.datasets import PromptParts
from pytest_tablebench.strategies import Demonstration, assemble

# Everything the soft newline of the published code swallows, and things it does not.
SWALLOWED = st.text(alphabet="\n\\N()ab :.", max_size=12)


@given(
    instruction=SWALLOWED,
    source=SWALLOWED,
    prefix=SWALLOWED,
    demonstrations=st.lists(st.tuples(SWALLOWED, SWALLOWED), max_size=3),
)
def test_the_fixed_prompt_keeps_all_text_in_order(
    instruction: str, source: str, prefix: str, demonstrations: list[tuple[str, str]]
) -> None:
    prompt = assemble(
        PromptParts(instruction, source, prefix),
        [Demonstration(*demonstration) for demonstration in demonstrations],
    )
    pieces = [instruction]
    for shown, target in demonstrations:
        pieces += [shown, prefix, target]
    pieces += [source, prefix]
    # Line ends may merge; every other character of every piece is there, once and in order.
    assert prompt.replace("\n", "") == "".join(pieces).replace("\n", "")


def test_the_fixed_prompt_keeps_what_the_published_one_swallows() -> None:
    # spec torr.md section 9, row 9: a question that ends in "(UN)" is shown as "(U".
    parts = PromptParts("Do it (now)", "Who leads the (UN)", "A:")
    assert assemble(parts) == "Do it (now)\nWho leads the (UN)\nA:"
    assert assemble(parts, compat="reference") == "Do it (now\nWho leads the (U\nA:"


def test_a_backslash_and_n_inside_a_cell_stay_text_in_the_fixed_prompt() -> None:
    parts = PromptParts("Do it.", "C:\\New", "A:")
    assert assemble(parts) == "Do it.\nC:\\New\nA:"
    assert assemble(parts, compat="reference") == "Do it.\nC:\new\nA:"
