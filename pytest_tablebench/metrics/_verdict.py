"""The verdict of a reply to TabFact, without its wraps and a note after it."""

from __future__ import annotations

import re
from typing import Any

from pytest_tablebench.metrics._markers import strip_answer_marker

_LABELS = {"entail": "entailed", "refut": "refuted"}
_OTHER = {"entailed": "refuted", "refuted": "entailed"}

# Before the verdict: brackets, quotes, bold, headings and bullets. After it: their ends, and then
# nothing, or a note that begins with a mark or with a word that gives a reason.
_BEFORE = r"""(?:[\s*_"'“‘«`(\[{<#>]|[-•]\s)*+"""
_BEHIND = r"""[\s*_"'”’»`)\]}>]*+"""
_MARK = r"(?:[.,;:!?=|…–—(\[{]|(?<=\s)-|-\s)"
_REASON = r"(?<=\s)(?:as|based|because|by|due|for|given|since)\b"
_VERDICT = re.compile(
    rf"{_BEFORE}(?P<label>entailed|refuted)(?![^\W_])"
    rf"(?P<note>{_BEHIND}(?:$|(?:{_MARK}|{_REASON}).*))$",
    re.DOTALL,
)
# `refuted: no` and `entailed? Not at all` take back their verdict.
_TAKEN_BACK = re.compile(
    rf"{_BEHIND}(?:[:=?]\W*+(?:yes|no|not|true|false|0|1)\b\W*+$|\?\W*+(?:no|not)\b)"
)
_MENTION = re.compile(r"(entail|refut)\w*")
_REACH = 40
_NEGATED = re.compile(
    r"""(?:\b(?:not|cannot|never|nor|no|neither|without|rather\ than|instead\ of)|n['’]t)
        (?:\s+(?:at\ all|be|been|being|[a-z]+ly))*[\s*_"'“‘`]+$""",
    re.VERBOSE,
)


def read_verdict(value: Any) -> str:
    """Return `entailed` or `refuted` if a reply states one and not the other.

    The first line with any text must begin with the verdict, after `Answer:`, or in brackets,
    quotes or bold, or before a note. If later text contradicts it (`not refuted` means `entailed`),
    and for any other reply, the whole text is returned in lower case on one line.
    """
    text = strip_answer_marker(value).lower()
    line, _, others = text.partition("\n")
    match = _VERDICT.match(strip_answer_marker(line))
    if match and not _TAKEN_BACK.match(match["note"]):
        label = match["label"]
        if _agrees(label, match["note"]) and _agrees(label, others):
            return label
    return " ".join(text.split())


def _agrees(label: str, note: str) -> bool:
    for mention in _MENTION.finditer(note):
        claim = _LABELS[mention[1]]
        if _NEGATED.search(note[max(0, mention.start() - _REACH) : mention.start()]):
            claim = _OTHER[claim]
        if claim != label:
            return False
    return True
