"""Texts in the form that is compared: plain quotes, dashes and blanks, without wraps."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pytest_tablebench.metrics._normal import normalized

_SIGNS = str.maketrans(
    dict.fromkeys("‘’‚‛`´′ʼ＇", "'")
    | dict.fromkeys("“”„‟″＂", '"')
    | dict.fromkeys("‐‑‒–—―−﹣－\u02d7\u2043\u2796", "-")
    | dict.fromkeys("\u00ad\u200b\u200e\u200f\ufeff\u2061\u2062")
    | {"\u066b": ".", "\u066c": ",", "\u060c": ",", "\u066a": "%", "\u2044": "/"}
    # The digits of Arabic, Persian, Hindi, Bengali and Thai.
    | {
        chr(zero + digit): str(digit)
        for zero in (0x660, 0x6F0, 0x966, 0x9E6, 0xE50)
        for digit in range(10)
    }
)
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_VULGAR = re.compile("[¼-¾⅐-⅞↉]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_WRAPS = (
    *(("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), ("$", "$"), ("\\(", "\\)")),
    *(('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("„", "”"), ("‘", "’"), ("«", "»")),
    *(("「", "」"), ("『", "』"), ("《", "》"), ("```", "```"), ("\\[", "\\]")),
)
_OPENINGS = frozenset(opening[0] for opening, _ in _WRAPS)
_DEEPEST = 6
_SHORT = 200
"""Characters of the longest text whose forms are cached."""
_COMMANDS = re.compile(r"\\(?:text|mathrm|mathbf|textbf|operatorname)\s?\{([^{}]*)\}")
_FRACTION = re.compile(r"\\[dt]?frac\s?\{([^{}]{1,20})\}\s?\{([^{}]{1,20})\}")
_SHORT_FRACTION = re.compile(r"\\[dt]?frac\s?(\d)\s?(\d)(?!\d)")
_BLANK_IN_NUMBER = re.compile(r"(?<=\d)(?:\\[,!;: ]|~|\{,\}|\\thinspace)(?=\d{3})")
_LATEX = {
    r"\times": "×",
    r"\cdot": "·",
    r"\div": "÷",
    r"\approx": "≈",
    r"\%": "%",
    r"\$": "$",
    r"\,": "",
    r"\!": "",
    r"\ ": " ",
    r"\;": " ",
    r"\&": "&",
    r"\left": "",
    r"\right": "",
    r"\#": "#",
    r"\_": "_",
    "{,}": ",",
}
CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORDS = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_ABBREVIATION = re.compile(r"(?<=[^\W\d_])\.")
_AROUND_SIGNS = re.compile(r"\s*([-<>=≤≥:/+×*±])\s*")
_AND = re.compile(r"\s*&\s*|\s+(?:and|und|et|y|e|i|en)\s+")
_LETTERS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae", "œ": "oe", "ł": "l"}
)
_BARE_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ı": "i"})


def folded(text: str) -> str:
    """Return a text without case, with plain quotes, dashes, digits and single blanks.

    Raised digits are marked: `10²` becomes `10^2`, never `102`. `2½` becomes `2 1/2`.
    """
    return _short_folded(text) if len(text) <= _SHORT else _folded(text)


def _folded(text: str) -> str:
    if not text.isascii():
        text = _RAISED.sub(lambda match: "^" + match[0].translate(_DIGITS), text.translate(_SIGNS))
        text = _VULGAR.sub(r" \g<0> ", _SURROGATES.sub("", text))
        text = normalized("NFKC", text).translate(_SIGNS)
    else:
        text = text.replace("`", "'")
    return " ".join(text.casefold().split())


_short_folded = lru_cache(maxsize=8192)(_folded)


def words(text: str) -> list[str]:
    """Return the words of a folded text; each Chinese, Japanese or Korean sign is a word."""
    return _WORDS.findall(text)


@lru_cache(maxsize=8192)
def loose_forms(text: str) -> frozenset[str]:
    """Return the forms of a text without accents, full stops of abbreviations and needless blanks.

    `Müller` has two, because it is written `Muller` and `Mueller` elsewhere. `A & B` is `a and b`.
    """
    plain = _AND.sub(" and ", folded(without_entities(text)))
    plain = _AROUND_SIGNS.sub(r"\1", _ABBREVIATION.sub("", plain)).strip()
    if plain.isascii():
        return frozenset({plain})
    return frozenset({_without_accents(plain), _without_accents(plain.translate(_LETTERS))})


def _without_accents(text: str) -> str:
    letters = normalized("NFKD", text.translate(_BARE_LETTERS))
    # Marks of other scripts are letters: Japanese が is not か.
    return "".join(letter for letter in letters if not "\u0300" <= letter <= "\u036f")


def without_entities(text: str) -> str:
    """Return a text with HTML's entities as signs, and without halves of surrogate pairs."""
    if not text.isascii():
        text = _SURROGATES.sub("", text)
    return html.unescape(text) if "&" in text and ";" in text else text


def without_latex(text: str) -> str:
    r"""Return a formula as plain text: `37.5\%` as `37.5%`, `\frac{3}{4}` as `3/4`."""
    if "\\" not in text and "{" not in text and "~" not in text:
        return text
    text = _BLANK_IN_NUMBER.sub("", text)
    text = _SHORT_FRACTION.sub(r" \1/\2", _FRACTION.sub(r" \1/\2", _COMMANDS.sub(r"\1", text)))
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


def is_currency_sign(sign: str) -> bool:
    """Return whether a character is the sign of a currency."""
    return unicodedata.category(sign) == "Sc"
