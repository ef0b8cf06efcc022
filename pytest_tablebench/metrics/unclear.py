"""Yes or no in a reply, and the judge's decision about a reply that stays unclear."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from pytest_tablebench.errors import NotJudgedError
from pytest_tablebench.metrics._base import Judgement, Score
from pytest_tablebench.metrics._typed_replies import AnswerText, read_reply, sentences
from pytest_tablebench.metrics._typed_same import RIGHT, Decision, unclear, wrong
from pytest_tablebench.metrics._typed_text import folded, unwrapped, words
from pytest_tablebench.metrics._typed_words import (
    ALL_VERDICTS,
    FUNCTION_WORDS,
    NO,
    YES,
    denies,
    refuses,
)
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.serializers.content import Message

_LETTERS = {"y": True, "n": False}
_WORDS = "|".join(sorted(ALL_VERDICTS, key=len, reverse=True))
# `No. 1` is an abbreviation, and `No idea` is no verdict. After a mark any text may follow.
_FIRST = re.compile(
    rf"(?P<word>{_WORDS})(?:\s*$|\s*[.!](?!\s?\d)\s*|\s*[,;:—–、。，；(（]|\s-+\s|-+\s|\n)"
)
_SUBJECTS = (
    "it|they|he|she|both|the|this|that|these|those|there|all|we|you|es|sie|er|beide|der|die|das"
    "|diese[rs]?|alle|il|elle|ils|elles|ce|c'|les|le|la|l'|cette|cela|on|el|los|las|está|ambos|è"
    "|é|o|os|as|ele|ela|het|ze|hij|de|dit|dat|to|oba|jest|это|он|она|они|оба"
)
_CLAUSE = re.compile(
    rf"(?:(?P<yes>{'|'.join(YES)}) (?!(?:and|or|no|not|und|oder|nein|et|ou|non|y|o|e|lub|или)\b)"
    rf"|(?P<no>{'|'.join(NO)}) (?:{_SUBJECTS})(?<!')(?!\w)|(?P<no2>non) c')"
)
_CLAIM = re.compile(
    rf"(?<![^\W_])(?P<not>not |nicht |n't |pas )?(?P<word>{_WORDS})"
    r"(?=\s*(?:$|[.,;:!?。，；)]))(?!\. ?\d)"
)
_FRAME = re.compile(
    r"\b(?:is|was|ist|est|are|sind)\s+(?:also |indeed |therefore |daher )?"
    r"(?P<not>not |nicht |pas |neither )?(?P<word>true|false|correct|incorrect|right|wrong|wahr"
    r"|falsch|richtig|unrichtig|korrekt|vraie?|fausse|faux|correcte)\b"
    r"|(?:^|[,;:] )(?:so|hence|therefore|thus|also|donc|daher|then),? (?:the answer is )?"
    r"(?P<end>yes|no|ja|nein|oui|non)(?=[.!,;]|$)"
    r"|是(?P<zh>不?正确|错误|对|错)的?"
    r"|(?P<zh2>不正确|不对)"
)
_ALTERNATIVE = re.compile(r"^\s*(?:/|or\b|and\b|oder\b|und\b|ou\b|et\b)")
_CHOICE = re.compile(r"\bor\b|\boder\b|\bou\b|或|\bneither\b|\bwhether\b|\bob\b|\bif\b|\bunless\b")
_DASHES = re.compile("[—–]")
_LONGEST = 4_000


def decide_verdict(
    expected: bool | None, reply: AnswerText, question: Collection[str] = ()
) -> Decision:
    """Decide whether a reply says yes (`expected` is true) or no.

    `question` are the words of the question: a reply that repeats the claim is unclear.
    """
    verdict, reason = _read(reply)
    names = {True: "yes", False: "no"}
    if expected is None:
        return wrong("the expected answer is neither yes nor no")
    if verdict is not None:
        return (
            RIGHT
            if verdict is expected
            else wrong(f"read {names[verdict]}, expected {names[expected]}")
        )
    text = folded(reply.answer[:_LONGEST])
    is_named = any(ALL_VERDICTS[match["word"]] is expected for match in _CLAIM.finditer(text))
    content = [word for word in words(text) if word not in FUNCTION_WORDS]
    shared = [word for word in content if word in question]
    if reason != "a refusal" and (
        is_named or (len(shared) > 1 and 2 * len(shared) >= len(content))
    ):
        return unclear(reason or ("a doubt" if is_named else "the claim instead of yes or no"))
    return wrong(reason or "neither yes nor no")


def read_verdict(reply: AnswerText) -> bool | None:
    """Return True if a reply says yes, False if no, None if neither or both."""
    return _read(reply)[0]


def _read(reply: AnswerText) -> tuple[bool | None, str]:
    """Return True if a reply says yes, False if no, None if neither or both; and why."""
    plain = _DASHES.sub(" - ", reply.answer[:_LONGEST].replace("**", "").replace("__", ""))
    whole = "\n".join(map(folded, plain.split("\n")))
    for text in unwrapped(reply.answer[:200]):
        word = folded(text)
        if word in ALL_VERDICTS or word in _LETTERS:
            return {**ALL_VERDICTS, **_LETTERS}[word], ""
    if reply.is_taken_back:
        return None, "an answer that is taken back"
    if refuses(whole):
        return None, "a refusal"
    first = _FIRST.match(whole) or _CLAUSE.match(whole)
    if first is not None:
        start = first.groupdict().get("word")
        verdict = ALL_VERDICTS[start] if start else first["yes"] is not None
        note = whole[first.end() :]
        if _ALTERNATIVE.match(note) or not _agrees(verdict, note):
            return None, "yes and no"
        return verdict, ""
    parts = [folded(part) for part in sentences(plain)]
    if len(parts) > 1 and (word := parts[-1].strip(" .!。")) in ALL_VERDICTS:
        return ALL_VERDICTS[word], ""
    for line in dict.fromkeys((parts[-1], parts[0]) if parts else ()):
        claims = {_framed(match) for match in _FRAME.finditer(line[:400])}
        if len(claims) == 1 and not _CHOICE.search(line):
            return claims.pop(), ""
    return None, ""


def _agrees(verdict: bool, note: str) -> bool:
    """Return whether no later sentence or clause states the opposite."""
    claims = {ALL_VERDICTS[match["word"]] != bool(match["not"]) for match in _CLAIM.finditer(note)}
    head = re.match(rf"\s*(?:{_WORDS}|maybe|perhaps|vielleicht|peut-être)\s*[,.]", note)
    return (not verdict) not in claims and (head is None or not denies(head[0]) or not verdict)


def _framed(match: re.Match[str]) -> bool:
    if match["zh"] or match["zh2"]:
        return (match["zh"] or match["zh2"]) in {"正确", "对"}
    if match["end"]:
        return ALL_VERDICTS[match["end"]]
    return ALL_VERDICTS.get(match["word"], match["word"] == "vraie") != bool(match["not"])


BY_JUDGE = "decided_by_judge"
"""The flag of a reply that was unclear until a judge decided it."""


def decision(
    scored: Score, prediction: Any, references: Sequence[Any], *, question: str = ""
) -> Judgement:
    """Ask the judge about an unclear reply, and return the score by its verdict.

    The reply stays unclear if the judge fails or says neither yes nor no.
    """
    expected = "\n".join(map(str, references))
    text = (
        "A question about a table was answered. Decide whether the reply gives the expected "
        "answer. Another unit, another number, a further item or a missing one is a different "
        "answer; another way to write the same answer is not. A reply that gives several answers, "
        "or leaves open which one it means, does not give the expected answer.\n\n"
        f"Question: {question}\n\nExpected answer:\n{expected}\n\nReply:\n{prediction}\n\n"
        "Does the reply give the expected answer? Say only yes or no."
    )
    try:
        reply = yield Ask((Message("user", text),))
    except NotJudgedError:
        return scored
    verdict = read_verdict(read_reply(reply.text.strip()))
    if verdict is None:
        return replace(scored, flags=(*scored.flags, "judge_parse_error"))
    return with_verdict(scored, verdict, BY_JUDGE)


def with_verdict(scored: Score, is_right: bool, flag: str) -> Score:
    """Return an unclear score with a verdict and the flag of its source."""
    value = float(is_right)
    return replace(
        scored,
        value=value,
        parts=dict.fromkeys(scored.parts, value),
        flags=(*scored.flags, flag),
        unclear=False,
        why="" if is_right else scored.why,
    )
