"""Yes or no in a reply, with or without a reason after it."""

from __future__ import annotations

import re

from pytest_tablebench.metrics._typed_replies import AnswerText, denies
from pytest_tablebench.metrics._typed_text import folded, unwrapped

VERDICTS = {
    **dict.fromkeys(("yes", "true", "是", "是的", "对", "正确", "ja", "wahr", "oui", "vrai"), True),
    **dict.fromkeys(("no", "false", "否", "不是", "不对", "错", "错误", "nein", "falsch"), False),
    **dict.fromkeys(("non", "faux"), False),
}
"""The words of an expected answer of the kind `yes_no`."""

_SAID = VERDICTS | {
    **dict.fromkeys(("nope", "nah"), False),
    **dict.fromkeys(("yeah", "yep", "yup"), True),
    **dict.fromkeys(("not true", "not correct", "untrue", "nicht wahr", "pas vrai"), False),
    **dict.fromkeys(("nicht richtig", "stimmt nicht"), False),
    **dict.fromkeys(
        ("stimmt", "correct", "right", "richtig", "korrekt", "correcte", "sí", "对的"), True
    ),
    **dict.fromkeys(("incorrect", "wrong", "unrichtig", "inkorrekt", "不正确", "错的"), False),
}
_WORDS = "|".join(sorted(_SAID, key=len, reverse=True))
# `No. 1` is an abbreviation, and `No idea` is no verdict. After a mark any text may follow.
_FIRST = re.compile(
    rf"(?P<word>{_WORDS})(?:\s*$|\s*[.!](?!\s?\d)\s*|\s*[,;:—–、。，；(（]|\s-+\s|-+\s|\n)"
)
_CLAIM = re.compile(
    rf"(?<![^\W_])(?P<not>not |nicht |n't |pas )?(?P<word>{_WORDS})(?=\s*(?:$|[.,;:!?。，；)]))"
)
_FRAME = re.compile(
    r"\b(?:is|was|ist|est|are|sind)\s+(?:also |indeed |therefore |daher )?"
    r"(?P<not>not |nicht |pas |neither )?(?P<word>true|false|correct|incorrect|right|wrong|wahr"
    r"|falsch|richtig|unrichtig|korrekt|vraie?|fausse|faux|correcte)\b"
    r"|[,;] (?:so|hence|therefore|thus|also|donc) (?P<end>yes|no|ja|nein|oui|non)[.!]?$"
    r"|是(?P<zh>不?正确|错误|对|错)的?"
    r"|(?P<zh2>不正确|不对)"
)
_REFUSED = re.compile(
    r"\b(?:not enough|insufficient|no) (?:information|data)\b|\bcannot (?:be determined|say|tell)\b"
)
_ALTERNATIVE = re.compile(r"^\s*(?:/|or\b|and\b|oder\b|und\b|ou\b|et\b)")


def read_verdict(reply: AnswerText) -> bool | None:
    """Return True if a reply says yes, False if no, None if neither or both."""
    plain = reply.answer[:4_000].replace("**", "").replace("__", "")
    whole = "\n".join(map(folded, plain.split("\n")))
    for text in unwrapped(reply.answer[:200]):
        if (word := folded(text)) in _SAID:
            return _SAID[word]
    if reply.is_taken_back or _REFUSED.search(whole):
        return None
    first = _FIRST.match(whole)
    if first is not None:
        note = whole[first.end() :]
        verdict = _SAID[first["word"]]
        if _ALTERNATIVE.match(note) or not _agrees(verdict, note):
            return None
        return verdict
    line = folded(reply.answer.partition("\n")[0][:400].replace("**", ""))
    claims = {_framed(match) for match in _FRAME.finditer(line)}
    if "neither" in line or len(claims) != 1 or re.search(r"\bor\b|\boder\b|\bou\b|或", line):
        return None
    return claims.pop()


def _agrees(verdict: bool, note: str) -> bool:
    """Return whether no later sentence or clause states the opposite."""
    claims = {_SAID[match["word"]] != bool(match["not"]) for match in _CLAIM.finditer(note)}
    head = re.match(rf"\s*(?:{_WORDS}|maybe|perhaps|vielleicht|peut-être)\s*[,.]", note)
    return (not verdict) not in claims and (head is None or not denies(head[0]) or not verdict)


def _framed(match: re.Match[str]) -> bool:
    if match["zh"] or match["zh2"]:
        return (match["zh"] or match["zh2"]) in {"正确", "对"}
    if match["end"]:
        return _SAID[match["end"]]
    return _SAID.get(match["word"], match["word"] == "vraie") != bool(match["not"])
