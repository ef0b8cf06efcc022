"""Reading of replies: thinking, markers, and the post-processors (spec: torr.md section 7).

A post-processor takes the result of the one before, a text or a list, for replies and references
alike.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import unknown_name


def after_thinking(reply: str) -> str:
    """Return the text after the last `</think>`, or the whole reply without it."""
    return reply.rpartition("</think>")[2]


def oddities(reply: str) -> tuple[str, ...]:
    """Return the flags of a reply: thinking that does not end, more than one box."""
    text = after_thinking(reply)
    unclosed = ("unclosed_thinking",) * ("<think>" in text)
    return unclosed + ("several_boxes",) * (text.count("\\boxed{") > 1)


_FINAL, _FINAL_BARE = "[Final Answer]:", "Final Answer:"


@dataclass(frozen=True)
class Reading:
    """The answer of a reply, None without a marker, and how it was found."""

    outcome: Literal["marker", "fallback", "missing"]
    answer: str | None


def read_reply(reply: str) -> Reading:
    """Return the text after the last `[Final Answer]:`, or else after the last `Final Answer:`."""
    _, marker, answer = reply.rpartition(_FINAL)
    if marker:
        return Reading("marker", answer.strip())
    _, marker, answer = reply.rpartition(_FINAL_BARE)
    return Reading("fallback", answer.strip()) if marker else Reading("missing", None)


_IS = r"(?:is\b\s*:?|:)"
# The asterisks of `**Answer:** 42` and `**Answer**: 42` belong to the marker; `_QUOTES` removes
# those around the answer, or around marker and answer. Repeated markers are removed together:
# one by one, each would copy a long reply.
_MARKERS = re.compile(
    rf"(?:(\**)(?:the\s+)?(?:final\s+)?answer(?:\1\s*{_IS}|\s*{_IS}\1)\s*)+", re.IGNORECASE
)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`", "**": "**"}


def strip_answer_marker(value: Any) -> str:
    """Remove what models put around a short answer: `Answer:` before it, quotes, a full stop."""
    text = str(value).strip()
    before = None
    while before != text:
        before = text
        if markers := _MARKERS.match(text):
            text = text[markers.end() :]
        text = _without_full_stop(text)
        for opening, closing in _QUOTES.items():
            if len(text) > len(opening + closing) and text.startswith(opening):
                inner = text[len(opening) : -len(closing)]
                if text.endswith(closing) and opening not in inner and closing not in inner:
                    text = inner.strip()
    return text


def _without_full_stop(text: str) -> str:
    """Remove full stops with blanks between them (`42 . .`); an ellipsis stays."""
    end = len(text)
    while end > 1 and text[end - 1] == "." != text[end - 2]:
        end -= 1
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


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


_PUBLISHED = re.compile(r"Final Answer: (.+)")
_MARKER = re.compile(r"final answer\**\s*:\**", re.IGNORECASE)


def tablebench_final_answer(value: object) -> str:
    """Return the rest of the line after the first `Final Answer: `, or "" (`reference`)."""
    match = _PUBLISHED.search(str(value))
    return match[1] if match else ""


def tablebench_marked_answer(value: object) -> str:
    """Return the line after the first `Final Answer:`, unwrapped, or "" (`fixed`).

    Case, asterisks and blanks in the marker do not matter, and the answer may begin on the next
    line.
    """
    text = str(value)
    match = _MARKER.search(text)
    line = text[match.end() :].strip().partition("\n")[0] if match else ""
    # `**Final Answer: 42**` leaves the second pair of asterisks behind.
    line = line.strip()
    if line.count("**") == 1:
        line = line.removesuffix("**")
    return strip_answer_marker(line)


Postprocessor = Callable[[Any], Any]

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _as_float(value: Any) -> str:
    try:
        return str(float(value))
    except (TypeError, ValueError):
        return str(value)


POSTPROCESSORS: dict[str, Postprocessor] = {
    "take_first_non_empty_line": lambda value: str(value).strip().split("\n")[0].strip(),
    "lower_case": lambda value: str(value).lower(),
    # Not stripped afterwards.
    "lower_case_till_punc": lambda value: re.split(r"[.,!?;]", str(value).lower(), maxsplit=1)[0],
    "to_string_stripped": lambda value: str(value).strip(),
    "to_list_by_comma_space": lambda value: [piece.strip() for piece in str(value).split(", ")],
    "to_list_by_comma": lambda value: [piece.strip() for piece in str(value).split(",")],
    "str_to_float_format": _as_float,  # of a list too its text
    "remove_punctuations": lambda value: str(value).translate(_PUNCTUATION),
    "remove_articles": lambda value: re.sub(r"\b(a|an|the)\b", " ", str(value)),
    "fix_whitespace": lambda value: " ".join(str(value).split()),
    "read_verdict": read_verdict,
    "after_thinking": after_thinking,
    "strip_answer_marker": strip_answer_marker,
    # RealHiTBench's marked answer; without a marker nothing (`fixed`) or all (`reference`).
    "realhit_answer_or_nothing": lambda value: read_reply(str(value)).answer or "",
    "realhit_answer_or_reply": lambda value: (
        str(value) if (answer := read_reply(str(value)).answer) is None else answer
    ),
    "tablebench_final_answer": tablebench_final_answer,
    "tablebench_marked_answer": tablebench_marked_answer,
    # A program's output after the marker, or all of it, stripped (`fixed` and `reference`).
    "tablebench_marked_or_printed": lambda value: (
        tablebench_marked_answer(value) or str(value).strip()
    ),
    "tablebench_printed_answer": lambda value: tablebench_final_answer(value) or str(value).strip(),
}


def plain_text(text: str) -> str:
    """Return a text without case, marks and articles, as benchmarks compare answers."""
    names = ("lower_case", "remove_punctuations", "remove_articles", "fix_whitespace")
    return str(run_chain(names, text))


def postprocess(name: str, value: Any) -> Any:
    """Apply one named post-processor to a text (or to what an earlier one returned).

    Raises `SettingsError` for an unknown name.
    """
    return run_chain([name], value)


def run_chain(
    names: Iterable[str], value: Any, registered: Mapping[str, Postprocessor] = POSTPROCESSORS
) -> Any:
    """Apply post-processors one after the other; raises `SettingsError` for an unknown name."""
    for name in names:
        if name not in registered:
            raise SettingsError(unknown_name("post-processor", name, registered))
        value = registered[name](value)
    return value
