"""Finds the answer in a reply: a box, a marked line, the first line, or a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_tablebench.metrics._typed_text import CJK, folded, without_latex

_LONGEST = 20_000
"""Characters of a reply that are read: of a longer reply, its beginning and its end."""

_IS = r"(?:\s*(?:is|ist|lautet|est)\b\s*:?|\s*[:：]|是\s*[:：]?|为\s*[:：]?)"
_MARKER = re.compile(
    r"(?:^|(?<=[.!?:;。！？]))[ \t*_#>]*"
    r"(?:so |thus |therefore,? |hence,? )?(?:(?:the|my|die|la) )?"
    r"(?:(?:final|correct|short|endgültige|最终) ?)?"
    rf"(?:answer|antwort|réponse(?: finale)?|答案)(?P<bold>\**){_IS}(?P=bold)[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_LATIN_UNSURE = (
    "maybe|perhaps|probably|possibly|might|may be|could be|likely|not sure|unsure|i think|i guess"
    "|i believe|seems|either|neither|vielleicht|wahrscheinlich|möglicherweise|vermutlich|entweder"
    "|peut-être|probablement|sans doute|jein"
)
_LATIN_NOT = (
    "not|no|never|none|cannot|neither|nor|without|nobody|nicht|kein|keine|keinen|keiner|nie|weder"
    "|ohne|aber|pas|aucun|aucune|jamais|sans|unknown|n/a"
)
_UNSURE = re.compile(rf"\b(?:{_LATIN_UNSURE})\b|可能|也许|大概|不确定|或许")
_NEGATED = re.compile(rf"\b(?:{_LATIN_NOT})\b|n't\b|\bn'(?=\w)|[不没無无未非](?!锈钢)")
_OTHERWISE = re.compile(r"\b(?:or|oder|ou|vs)\b|[或]|/(?=\s)")
_ABOUT = re.compile(
    r"(?:(?:\b(?:about|around|approximately|approx|roughly|nearly|almost|close to|some|circa|ca"
    r"|ungefähr|etwa|rund|knapp|fast|zirka|environ|presque|près de|à peu près|quasiment)\b\.?|[~≈]"
    r"|大约|约|大概|将近|接近|近)\s?(?:[^\W\d_]+\s)?)$"
)
_BOUND = re.compile(
    r"(?:(?:\b(?:more than|less than|fewer than|greater than|over|under|at least|at most|up to"
    r"|below|above|before|after|until|since|from|starting"
    r"|mehr als|weniger als|über|unter|mindestens|höchstens"
    r"|bis zu|vor|nach|seit|bis|plus de|moins de|au moins|au plus|jusqu'à|avant|après|depuis)\b"
    r"|[<>≤≥]|超过|不到|至少|至多|多于|少于|高于|低于)\s?(?:(?:the|le|dem|den)\s)?)$"
)
_ABOUT_AFTER = re.compile(r"\s?(?:左右|上下|or so\b)")
_BOUND_AFTER = re.compile(
    r"\+(?!\s?\d)|\s?(?:以上|以下|or more\b|or less\b|oder mehr\b|ou plus\b|之前|之后)"
)
_TAKEN_BACK = re.compile(
    r"(?:^|[.,;:!?…—–\n(-]\s*|\b(?:no|non|nein),? |\? )"
    r"(?:no,? )?(?:actually|wait|correction|sorry|scratch that|on second thought|let me correct"
    r"|i made a mistake|rather|oops|moment|halt|korrektur|pardon|attendez|en fait)\b"
    r"|等等|更正|其实|抱歉"
)
_BLANKS = re.compile(r"\s{3,}")
_TAGS = re.compile(r"<answer>([^<]{0,2000})</answer>", re.IGNORECASE)
_REASON = re.compile(r"\s+(?:because|since|as|weil|car|parce que)\b|[,，]?\s?因为")
_NOTE = re.compile(r"\s+(?=\()|\s+[-\u2013\u2014]\s+")
_BOLD = re.compile(r"\*\*([^*\n]{1,400})\*\*(?!\*)")
_SENTENCE = re.compile(r"(?<!\d\.)(?<=[.!?])\s+|(?<=[。！？])|\n+")


@dataclass(frozen=True)
class AnswerText:
    """A reply, and the part of it that is the answer.

    Arguments:
        text: the whole reply.
        answer: the content of its box, or the text after its last marker, or the whole reply.
        is_marked: whether a box or a marker shows the answer.
        is_taken_back: whether the reply corrects itself (`12, no wait, 13`).
    """

    text: str
    answer: str
    is_marked: bool = False
    is_taken_back: bool = False

    @property
    def line(self) -> str:
        """The first line of the answer."""
        return self.answer.partition("\n")[0].strip()


def read_reply(text: str) -> AnswerText:
    """Find the answer in a reply."""
    text = text.strip()
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"
    # Patterns that begin with blanks take quadratic time on long runs of blanks.
    text = _BLANKS.sub(lambda match: "\n\n"[: match[0].count("\n")] or "  ", text)
    box = _last_box(text)
    if box is None and (tags := _TAGS.findall(text)):
        box = tags[-1]
    if box is not None:
        return AnswerText(text, without_latex(box).strip(), is_marked=True)
    marker = None
    for marker in _MARKER.finditer(text):  # noqa: B007 - the last one counts
        pass
    answer = text
    if marker is not None:
        answer = text[marker.end() :].strip()
        # `**Final answer: 12**`: the bold type begins before the marker.
        if marker[0].lstrip().startswith("**") and not marker["bold"] and answer.endswith("**"):
            answer = answer.removesuffix("**").strip()
    answer = without_latex(answer)
    taken_back = _TAKEN_BACK.search(folded(answer)) is not None
    return AnswerText(text, answer, marker is not None, taken_back)


def _last_box(text: str) -> str | None:
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth = 0
    for place in range(start + len("\\boxed"), min(len(text), start + 2_000)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + len("\\boxed{") : place]
    return None


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


def is_open(sentence: str) -> bool:
    """Return whether a folded sentence is a question, denies, doubts or offers a choice."""
    return sentence.rstrip("\"' ").endswith(("?", "？")) or any(
        pattern.search(sentence) for pattern in (_UNSURE, _NEGATED, _OTHERWISE)
    )


def denies(text: str) -> bool:
    """Return whether a folded text contains a word that denies or doubts."""
    return _NEGATED.search(text) is not None or _UNSURE.search(text) is not None


def is_bounded(
    sentence: str, start: int, end: int, *, roughly: bool = False, question: str = ""
) -> bool:
    """Return whether a value is hedged: `more than 12`, or `about 12` unless `roughly` is set.

    A bound that is also in the folded question (`Since when ...`) does not count.
    """
    before, after = sentence[max(0, start - 40) : start], sentence[end : end + 12]
    bound = _BOUND.search(before)
    if (bound and bound[0].strip() not in question) or _BOUND_AFTER.match(after):
        return True
    return not roughly and bool(_ABOUT.search(before) or _ABOUT_AFTER.match(after))


_FUNCTION_WORDS = frozenset(
    """
    a an the is are was were be been being it its in on at of to for by with from that this
    these those has have had did does do there here according table tables based listed answer
    answers row rows column columns shown given value values as which who what where when how
    and i can see we then so has called named der die das den dem des ist sind war waren ein
    eine einen es im am an von zu für mit hat haben laut tabelle und wird wurde auf beträgt le
    la les l un une est sont était étaient de du des d en au aux a il elle ils c ce cette qui
    que ont selon tableau et sur s y 的 是 为 在 有 了 这 那 个 座 根 据 表 格 中 答 案 和 与
    就 其 上
    """.split()  # noqa: SIM905 - shorter than a list
)


def says_nothing_more(rest: Sequence[str], question: Sequence[str]) -> bool:
    """Return whether the words around an answer are the question's words or function words."""
    question_words = set(question)
    stems = {word[:4] for word in question_words if len(word) > 4}
    return all(
        word in _FUNCTION_WORDS or word in question_words or (len(word) > 4 and word[:4] in stems)
        for word in rest
    )


_LINKS = r"is|are|was|were|be|named|called|ist|sind|war|waren|heißt|est|sont|était|be|:|："
_BEFORE_END = re.compile(
    rf"(?:^|\s)(?:{_LINKS})\s*(?:(?:the|a|an|der|die|das|le|la|les)\s|l')?[\"'*«„(]*$|[是为:：]\s?[\"'“*]*$"
)
_AFTER_END = re.compile(
    r"[\"'*»)]*(?:$|[.,;!?。，；(（]|\s(?:at|in|with|for|by|on|from|because|since|which|as|according|with|mit|für|bei|avec|pour|à)\b|\s[(-])"
)


def links(before: str, after: str) -> bool:
    """Return whether a verb or colon leads to a mention: `the winner is NAME, with ...`."""
    return bool(_BEFORE_END.search(before) and _AFTER_END.match(after))


def is_word(sign: str) -> bool:
    """Return whether a character continues a word, so that a mention next to it is another word."""
    return sign.isalnum() and not re.match(f"[{CJK}]", sign)
