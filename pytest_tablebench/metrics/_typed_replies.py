"""Finds the answer in a reply: a box, a tag, a marked line, a field of JSON, or the whole text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.metrics._typed_text import folded, without_entities, without_latex
from pytest_tablebench.metrics._typed_words import ABBREVIATIONS, OTHERWISE, UNSURE

_LONGEST = 20_000
"""Characters of a reply that are read: of a longer reply, its beginning and its end."""

_IS = r"(?:\s*(?:is|ist|lautet|est|es|è|é)\b\s*:?|\s*[:：]|是\s*[:：]?|为\s*[:：]?)"
_MARKER = re.compile(
    r"(?:^|(?<=[.!?:;。！？]))[ \t*_#>]*"
    r"(?:so |thus |therefore,? |hence,? )?(?:(?:the|my|die|la) )?"
    r"(?:(?:final|correct|short|endgültige|最终) ?)?"
    rf"(?:answer|antwort|réponse(?: finale)?|respuesta|risposta|resposta|antwoord|odpowiedź|ответ"
    rf"|答案|답)(?P<bold>\**){_IS}(?P=bold)[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_TAKEN_BACK = re.compile(
    r"(?:^|[.,;:!?…—–\n(-]\s*|\b(?:no|non|nein),? |\? )"
    r"(?:no,? )?(?:actually|wait|correction|sorry|scratch that|on second thought|let me correct"
    r"|i made a mistake|rather|oops|moment|halt|korrektur|pardon|attendez|en fait)\b"
    r"|等等|更正|其实|抱歉"
)
_BLANKS = re.compile(r"\s{3,}")
_TAGS = re.compile(
    r"<(answer|final_answer|final|result|output|response|solution)>([^<]{0,2000})</\1>",
    re.IGNORECASE,
)
_BOX_TOKENS = re.compile(r"<\|begin_of_box\|>(.{0,2000}?)<\|end_of_box\|>", re.DOTALL)
_CUT = re.compile(
    r"<(?:\|begin_of_box\||answer|final_answer|final|solution)>[^<]{0,2000}$", re.IGNORECASE
)
"""A box token or tag that nothing closes."""
_CUT_TAG = re.compile(r"<[a-z_|]{0,20}$")
_CUT_BOX = re.compile(r"\\[Bb]o(?:x(?:ed?)?)?$")
_BOX = re.compile(r"\\[Bb]oxed\s*\{")
_FENCE = re.compile(r"```\w*\n(.{1,4000}?)\n?```", re.DOTALL)
_ROW = re.compile(r"\|([^|\n]{1,200})\|")
_RULE = re.compile(r"\s*:?-{2,}:?\s*")
_ANSWER_KEYS = (
    "answer",
    "final_answer",
    "finalanswer",
    "final answer",
    "result",
    "value",
    "output",
)
_REASON = re.compile(
    r"\s+(?:because|since|as|weil|car|parce que|porque|perché|omdat)\b|[,，]?\s?因为"
)
_NOTE = re.compile(
    r"\s+(?=\()|\s+[-\u2013\u2014]\s+|\s?\u2014\s?|(?<=[^\W\d])\u2013(?=[^\W\d])|(?<=\w)（"
)
_DOUBT = re.compile(
    rf"{UNSURE.pattern}|^(?:{OTHERWISE.pattern})|\balso (?:be|correct|right|possible|valid)\b"
    r"|^(?:no|nein|non|hmm+|but|however|aber|mais)\b|\b(?:is|was) (?:the )?(?:correct|right)\b"
    r"|\b(?:wrong|incorrect|not certain|uncertain|falsch)\b"
)
"""Words behind a marked value that leave open whether it is the answer."""
_DENIAL = re.compile(
    r"(?:[,;] (?:(?:and|but|und|et) )?| (?:and|but|und|et) )(?:not|nicht|pas) "
    r"|[,;]? (?:rather than|instead of) "
)
"""The start of a denial of another value: `B, not A`."""
_BOLD = re.compile(r"\*\*([^*\n]{1,400})\*\*(?!\*)")
_SENTENCE = re.compile(
    # A number of one or two digits may be an ordinal number: `1. FC`, `5. März`.
    r"(?:(?<!\s\d\.)(?<!\s\d\d\.)(?<!^\d\.)(?<!^\d\d\.)"
    + "".join(rf"(?<!\b{re.escape(word)}\.)" for word in ABBREVIATIONS)
    + r"(?<!\.[^\W\d]\.)|(?:(?<=\d\.)|(?<=\.[^\W\d]\.))"
    r"(?=\s+(?:yes|no|so|therefore|thus|hence|the|it|this|that|there|which|note|however|others?"
    r"|please)\b))"
    r"(?<=[.!?])\s+|(?<=[。！？])|\n+",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class AnswerText:
    """A reply, and the part of it that is the answer.

    Arguments:
        text: the whole reply.
        answer: the content of its box, or the text after its last marker, or the whole reply.
        is_marked: whether a box or a marker shows the answer.
        is_taken_back: whether the reply corrects itself (`12, no wait, 13`).
        items: the contents of its boxes or the items of its JSON, if there are several.
        is_cut: whether the reply ends inside its last box.
    """

    text: str
    answer: str
    is_marked: bool = False
    is_taken_back: bool = False
    items: tuple[str, ...] = field(default=())
    is_cut: bool = False

    @property
    def line(self) -> str:
        """The first line of the answer; behind a marker only its value, unless a note doubts it."""
        first = self.answer.partition("\n")[0].strip()
        if not self.is_marked:
            return first
        value = (sentences(_DENIAL.split(first, maxsplit=1)[0]) or [first])[0]
        note = folded(first.partition(value)[2]).lstrip(" ,;")
        return first if _DOUBT.search(note) else value


def read_reply(text: str) -> AnswerText:
    """Find the answer in a reply."""
    text = without_entities(text.strip())
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"
    # Patterns that begin with blanks take quadratic time on long runs of blanks.
    text = _BLANKS.sub(lambda match: "\n\n"[: match[0].count("\n")] or "  ", text)
    boxes = list(_marked_texts(text))
    if boxes and boxes[-1] is None:
        return AnswerText(text, text, is_cut=True)
    if boxes:
        contents = tuple(without_latex(box or "").strip() for box in boxes)
        items = contents if len(contents) > 1 else ()
        return AnswerText(text, contents[-1], is_marked=True, items=items)
    marker = None
    for marker in _MARKER.finditer(text):  # noqa: B007 - the last one counts
        pass
    answer = text
    if marker is not None:
        answer = text[marker.end() :].strip()
        # `**Final answer: 12**`: the bold type begins before the marker.
        if marker[0].lstrip().startswith("**") and not marker["bold"] and answer.endswith("**"):
            answer = answer.removesuffix("**").strip()
    if (values := _structured(answer)) is not None:
        return AnswerText(text, "\n".join(values), is_marked=True, items=tuple(values))
    answer = without_latex(answer)
    taken_back = _TAKEN_BACK.search(folded(answer)) is not None
    return AnswerText(text, answer, marker is not None, taken_back)


def _marked_texts(text: str) -> Iterator[str | None]:
    r"""Yield the contents of `\boxed{}`, of box tokens, or of tags around the answer.

    The last one is None if the text ends inside a box.
    """
    if "oxed" in text:
        yield from _boxes(text)
    elif "<" in text:
        tokens = [match[1] for match in _BOX_TOKENS.finditer(text)]
        tags = [match[2] for match in _TAGS.finditer(text)]
        yield from tokens or tags
        if _CUT.search(text) or ((tokens or tags) and _CUT_TAG.search(text)):
            yield None


def _boxes(text: str) -> Iterator[str | None]:
    end = 0
    for opening in _BOX.finditer(text):
        if opening.start() < end:
            continue
        depth = 1
        for index in range(opening.end(), min(len(text), opening.end() + 2_000)):
            depth += {"{": 1, "}": -1}.get(text[index], 0)
            if depth == 0:
                end = index
                yield text[opening.end() : index]
                break
        else:
            if len(text) < opening.end() + 2_000:
                yield None
                return
    if _CUT_BOX.search(text):
        yield None


def _structured(answer: str) -> list[str] | None:
    """Return the values of a reply that is JSON or a table of one column; None for other text."""
    plain = answer.strip()
    if fence := _FENCE.fullmatch(plain):
        plain = fence[1].strip()
    if plain[:1] == "{" and plain[-1:] == "}":
        try:
            return _values(json.loads(plain))
        except (ValueError, RecursionError):
            return None
    lines = [line.strip() for line in plain.split("\n")]
    if len(lines) < 3 or not all(_ROW.fullmatch(line) for line in lines):
        return None
    cells = [line[1:-1].strip() for line in lines]
    return cells[2:] if _RULE.fullmatch(cells[1]) else None


def _values(content: Any) -> list[str] | None:
    """Return the texts of a JSON object's answer: the field with such a name, or the only one."""
    if isinstance(content, dict):
        keys = [key for key in content if key.casefold() in _ANSWER_KEYS]
        if not keys and len(content) != 1:
            return None
        return _values(content[(keys or list(content))[0]])
    values = content if isinstance(content, list) else [content]
    if any(isinstance(value, dict | list) or value is None for value in values):
        return None
    names = {True: "true", False: "false"}
    return [names[value] if isinstance(value, bool) else str(value) for value in values]


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, without headings and bullets."""
    parts = (re.sub(r"^\s*(?:[-*•]|#+)\s+", "", part) for part in _SENTENCE.split(text))
    return [part.strip() for part in parts if part.strip()]


def bold_texts(text: str) -> list[str]:
    """Return the texts in bold type."""
    return [match[1].strip() for match in _BOLD.finditer(text)]


def before_reason(text: str) -> str:
    """Return the part of a text before its reason: `12 because ...`."""
    return _REASON.split(text, maxsplit=1)[0]


def before_note(text: str) -> tuple[str, str]:
    """Return the parts before and after a bracket or dash: `tea (2.40)`, `tea - it is cheap`."""
    note = _NOTE.search(text, 1) if len(text) > 1 else None
    return (text[: note.start()], text[note.end() :]) if note else (text, "")
