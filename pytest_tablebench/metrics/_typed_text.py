"""Texts in the form that is compared: plain quotes, dashes and blanks, without wraps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pytest_tablebench.metrics._unicode import normalized

_SIGNS = str.maketrans(
    dict.fromkeys("‘’‚‛`´′ʼ＇", "'")
    | dict.fromkeys("“”„‟″＂", '"')
    | dict.fromkeys("‐‑‒–—―−﹣－\u02d7\u2043\u2796", "-")
    | dict.fromkeys("\u00ad\u200b\u200e\u200f\ufeff")
)
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_WRAPS = (
    *(("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), ("$", "$"), ("\\(", "\\)")),
    *(('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("„", "”"), ("‘", "’"), ("«", "»")),
    *(("「", "」"), ("『", "』"), ("《", "》"), ("```", "```")),
)
_OPENINGS = frozenset(opening[0] for opening, _ in _WRAPS)
_DEEPEST = 6
_SHORT = 200
"""Characters of the longest text whose forms are cached."""
_COMMANDS = re.compile(r"\\(?:text|mathrm|mathbf|textbf|operatorname)\s?\{([^{}]*)\}")
_LATEX = {
    r"\times": "×",
    r"\cdot": "·",
    r"\%": "%",
    r"\$": "$",
    r"\,": "",
    r"\ ": " ",
    r"\;": " ",
    r"\&": "&",
    r"\left": "",
    r"\right": "",
    r"\#": "#",
    "{,}": ",",
}
CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORDS = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")


def folded(text: str) -> str:
    """Return a text without case, with plain quotes, dashes, digits and single blanks.

    Raised digits are marked: `10²` becomes `10^2`, never `102`.
    """
    return _short_folded(text) if len(text) <= _SHORT else _folded(text)


def _folded(text: str) -> str:
    if not text.isascii():
        text = _RAISED.sub(lambda match: "^" + match[0].translate(_DIGITS), text.translate(_SIGNS))
        text = normalized("NFKC", text).translate(_SIGNS)
    else:
        text = text.replace("`", "'")
    return " ".join(text.casefold().split())


_short_folded = lru_cache(maxsize=8192)(_folded)


def words(text: str) -> list[str]:
    """Return the words of a folded text; each Chinese, Japanese or Korean sign is a word."""
    return _WORDS.findall(text)


def without_latex(text: str) -> str:
    r"""Return a formula as plain text: `37.5\%` as `37.5%`, `\text{Yes}` as `Yes`."""
    if "\\" not in text and "{" not in text:
        return text
    text = _COMMANDS.sub(r"\1", text)
    for command, sign in _LATEX.items():
        text = text.replace(command, sign)
    return text


def unwrapped(text: str) -> Sequence[str]:
    """Return a text, then its content without bold marks, quotes and the like, and a full stop.

    Only pairs are removed: `A*` stays, `**A***` contains `A*`.
    """
    return _short_unwrapped(text) if len(text) <= _SHORT else _unwrapped(text)


def _unwrapped(text: str) -> Sequence[str]:
    seen = [text.strip()]
    for inner in seen:
        if len(seen) > _DEEPEST:
            break
        for shorter in _shorter(inner):
            if shorter and shorter not in seen:
                seen.append(shorter)
    return seen


_short_unwrapped = lru_cache(maxsize=4096)(_unwrapped)


def _shorter(text: str) -> Iterator[str]:
    if text.endswith((".", "。", "．")) and not text.endswith(("..", "...")):
        yield text[:-1].rstrip()
    elif text.endswith((". .", "!", "！")):
        yield text.rstrip(" .!！")
    if text[:1] not in _OPENINGS:
        return
    for opening, closing in _WRAPS:
        if len(text) > len(opening + closing) and text.startswith(opening):
            inner = text[len(opening) : -len(closing)].strip()
            if text.endswith(closing) and opening not in inner.strip("*"):
                yield inner


@lru_cache(maxsize=4096)
def spellings(text: str) -> frozenset[str]:
    """Return the folded forms that equal a text, with and without its wraps and full stop."""
    return frozenset(folded(variant) for variant in unwrapped(text)) - {""} or frozenset({""})
