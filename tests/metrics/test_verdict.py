"""The verdict read from a reply to TabFact in the mode `fixed`."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import postprocess, score_answer

OTHER = {"entailed": "refuted", "refuted": "entailed"}
LABELS = sorted(OTHER)

WRAPPED = [
    "{}", "{}.", "{} .", "({})", "[{}]", "{{{}}}", "<{}>", "**{}**", "*{}*", "_{}_", "__{}__",
    "`{}`",
    '"{}"', "'{}'", "“{}”", "**({})**", "**{}.**", "# {}", "> {}", "- {}", "* {}", "({}).",
    "Answer: {}", "answer is {}", "The answer is: {}.", "**Answer:** {}", "**Answer**: **{}**",
    "Final answer: ({})", "The final answer is **{}**.", "Answer:\n{}", "\n\n{}\n",
]  # fmt: skip
NOTES = [
    "", ".", ", since 3 is not 4", " because row 2 says so", " (row 2)", " [row 2]",
    ": row 2 says so",
    " - row 2 says so", " – row 2", "— row 2", "; see row 2", "! No doubt.", "? I think so",
    " since no row says it", ", no doubt", " by the second row", " (not {other})", ", not {other}",
    ", it is not at all {other}", "; it isn't {other}", " (rather than {other})",
    ". The table does not clearly {stem} it", ".\n\nThe table says that 3 is 4.",
    "\nThe statement is not {other}, as row 2 says.", "\n{label}",
]  # fmt: skip


def read(reply: str) -> Any:
    return postprocess("read_verdict", reply)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("wrapper", WRAPPED)
def test_a_wrapped_verdict_is_read(wrapper: str, label: str) -> None:
    for text in (label, label.title(), label.upper()):
        reply = wrapper.format(text)
        assert read(reply) == label
        assert score_answer("tabfact", reply, [label]).value == 1
        assert score_answer("tabfact", reply, [OTHER[label]]).value == 0


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("note", NOTES)
@pytest.mark.parametrize("wrapper", ["{}", "**{}**", "({})", "Answer: {}"])
def test_a_note_after_the_verdict_is_ignored(wrapper: str, note: str, label: str) -> None:
    other = OTHER[label]
    behind = note.format(other=other, stem=other.removesuffix("ed"), label=label)
    assert read(wrapper.format(label) + behind) == label


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    "reply",
    [
        "{label} {other}", "{label} or {other}", "{label}/{other}", "{label}, {other}",
        "{label}\n{other}",
        "{label}. {other}.", "{label} ({other})", "{label} - {other}", "{label}: {other}",
        "{label}\n\n**{other}**",
        "**{label}** or **{other}**", "either {label} or {other}", "{label}, or else {other}",
        "{label}, not {label}", "{label}? No, {other}", "{label}; the table {other} it",
        "{label}, since it {stem}s it", "Answer: {label}\nAnswer: {other}",
        "{label}. Wait, it is {other}",
        "neither {label} nor {other}", "{label}\nrow 2\n({other}) after all", "{label}-{other}",
        # No verdict, or a retracted verdict.
        "not {label}", "un{label}", "{label}ness", "{label}2", "{label}: no", "{label}: yes",
        "{label} = false",
        "{label}? Not at all", "{label}?\tno", "!{label}", "¬{label}", "~{label}", "-{label}",
        ".{label}",
        "{label} not", "{label} cannot be said", "the statement could be {label}", "{stem}",
        "{stem}ment",
    ],
)  # fmt: skip
def test_two_verdicts_or_none_are_not_read(reply: str, label: str) -> None:
    other = OTHER[label]
    text = reply.format(label=label, other=other, stem=other.removesuffix("ed"))
    assert read(text) not in OTHER
    for wanted in LABELS:
        assert score_answer("tabfact", text, [wanted]).value == 0


@given(st.text(max_size=30), st.sampled_from(LABELS), st.text(max_size=30))
def test_a_verdict_read_is_in_the_reply_and_independent_of_case(
    before: str, label: str, behind: str
) -> None:
    reply = before + label + behind
    assert read(reply) in {label, " ".join(read(reply).split())}
    assert read(reply) != OTHER[label]
    assert read(before) not in OTHER


@given(st.sampled_from(LABELS), st.text(" \t.,;:()-*\n", max_size=6))
def test_two_verdicts_are_never_read_as_one(label: str, between: str) -> None:
    assert read(f"{label} {between} {OTHER[label]}") not in OTHER


def test_a_verdict_is_read_as_itself() -> None:
    for label in LABELS:
        assert read(read(label)) == label
    assert read("Refuted?  No,\nEntailed") == "refuted? no, entailed"


def test_the_mode_reference_cuts_at_the_first_punctuation_mark() -> None:
    assert (
        score_answer("tabfact", "refuted, or entailed", ["refuted"], compat="reference").value == 1
    )
    for reply in ("(refuted)", "**refuted**", "Answer: refuted", "refuted - row 2"):
        assert score_answer("tabfact", reply, ["refuted"], compat="reference").value == 0


@pytest.mark.parametrize(
    "text",
    ["refuted" + ":" * 500_000, "refuted " * 100_000, "refuted\n" * 100_000,
    "(" * 500_000 + "refuted",
     "refuted, " + "not " * 100_000, "refuted" + "? " * 300_000, "refuted, not " * 50_000],
    ids=["colons", "words", "lines", "brackets", "nots", "questions", "negated"],
)  # fmt: skip
def test_hostile_replies_are_read_quickly(text: str) -> None:
    start = time.process_time()
    read(text)
    assert time.process_time() - start < 10
