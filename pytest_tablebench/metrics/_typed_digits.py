"""Values of numbers in digits and in words, without their units."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from pytest_tablebench.metrics._typed_words import ADDED_NUMBERS, CJK_SCALES, DENOMINATORS

_SPOKEN = ("en", "de", "fr", "es", "it", "pt", "nl")
_OF_LANGUAGE = {
    "es": re.compile(r"\b(?:el|los|las|hay|son|es|de)\b"),
    "it": re.compile(r"\b(?:il|gli|sono|ci|della?)\b|è"),
    "pt": re.compile(r"\b(?:os|são|há|é|da|do)\b"),
    "nl": re.compile(r"\b(?:het|zijn|er|een|van)\b"),
}
"""Words that show the language of a sentence; `once` is eleven only in Spanish."""

_CJK_NUMBER = re.compile("[零〇一二两三四五六七八九十百千万亿]{1,12}")
_CJK_DIGITS = {sign: place for place, sign in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
}
_KOREAN = re.compile("([영공일이삼사오육칠팔구십백천만억]{1,12})(개|명|번|대|권|마리|원)?")
_KOREAN_DIGITS = str.maketrans(
    "영공일이삼사오육칠팔구십백천만억", "零零一二三四五六七八九十百千万亿"
)
_CJK_UNIT = "|".join(sorted(CJK_SCALES, key=len, reverse=True))
# Without possessive quantifiers the time for a long row of digits grows with its square.
_CJK_PART = re.compile(rf"(\d[\d.,]*+)\s?({_CJK_UNIT})")
_CJK_SUM = re.compile(
    rf"(?:\d[\d.,]*+\s?(?:{_CJK_UNIT})\s?){{1,4}}\d[\d,]*+\s?(?:{_CJK_UNIT})?(?![\d.,]*\d)"
)

_PART = "|".join(DENOMINATORS)
_FRACTION_WORDS = re.compile(
    rf"(?<!\w)(?:(?P<whole>[^\W_]+(?:-[^\W_]+)?) (?:and|und|et|y|e) (?:(?:an?|one|un|une|ein) )?"
    rf"(?P<part>{_PART})"
    rf"|(?P<count>an?|[^\W_]+)[ -](?P<parts>{_PART}))(?!\w)"
)
_GERMAN_HALF = re.compile(r"(?<!\w)(ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn)einhalb\b")
_ARTICLES = frozenset({"a", "an", "one", "ein", "eine", "un", "une", "uno", "um"})


def value_of(text: str, decimal: str) -> Fraction | None:
    """Return the value of a number in digits with the separators of a column; None for other text.

    Two different signs have one reading, and so has a sign that occurs twice. A single sign that
    can separate thousands does so unless it is the column's decimal sign.
    """
    thousands = "," if decimal == "." else "."
    if re.fullmatch(r"\d{1,3}(?:[ '_]\d{3})+(?:[.,]\d+)?", text):
        return _fraction(re.sub("[ '_]", "", text).replace(",", "."))
    if " " in text or "'" in text or "_" in text:
        return None
    signs = [sign for sign in text if sign in ".,"]
    if not signs:
        return _fraction(text)
    last = signs[-1]
    other = "," if last == "." else "."
    if other in signs:
        whole, _, rest = text.rpartition(last)
        is_grouped = last not in whole and _is_grouped(whole, other)
        return _fraction(f"{whole.replace(other, '')}.{rest}") if is_grouped and rest else None
    if len(signs) > 1:
        return _fraction(text.replace(last, "")) if _is_grouped(text, last) else None
    # Thousands come in threes, and not after a zero; otherwise the sign is a decimal sign.
    if last == thousands and _is_grouped(text, last) and not re.match(r"0\D", text):
        return _fraction(text.replace(last, ""))
    if last == thousands and not re.fullmatch(r"\d+[.,]\d+", text):
        return None
    return _fraction(text.replace(last, "."))


def _is_grouped(text: str, sign: str) -> bool:
    """Return whether a sign separates groups of digits: by threes, as in India, or by fours."""
    s = re.escape(sign)
    if re.fullmatch(rf"\d{{1,3}}(?:{s}\d{{3}})+|\d{{1,2}}(?:{s}\d{{2}})+{s}\d{{3}}", text):
        return True
    return text.count(sign) > 1 and re.fullmatch(rf"\d{{1,4}}(?:{s}\d{{4}})+", text) is not None


def _fraction(text: str) -> Fraction | None:
    return Fraction(text if text[0] != "." else f"0{text}") if text else None


def without_cjk_sums(text: str) -> str:
    """Return a text with its numbers such as `1亿2000万` in digits."""
    if not _CJK_PART.search(text):
        return text
    return _CJK_SUM.sub(_sum_of_parts, text)


def _sum_of_parts(match: re.Match[str]) -> str:
    total, smallest, end = Fraction(0), Fraction(10**20), 0
    for part in _CJK_PART.finditer(match[0]):
        number, size = value_of(part[1], "."), CJK_SCALES[part[2]]
        if number is None or number * size >= smallest:
            return match[0]
        total, smallest, end = total + number * size, Fraction(size), part.end()
    rest = match[0][end:].strip()
    last = value_of(rest, ".") if rest else Fraction(0)
    if last is None or last >= smallest or (total + last).denominator != 1:
        return match[0]
    return str(total + last)


def number_in_words(plain: str) -> tuple[Fraction, str] | None:
    """Return the number in words at the start of a folded text, and the text after it."""
    if len(plain) > 60:
        return None
    if korean := _KOREAN.fullmatch(plain):
        value = _chinese_number(korean[1].translate(_KOREAN_DIGITS))
        return None if value is None else (Fraction(value), korean[2] or "")
    if chinese := _CJK_NUMBER.match(plain):
        value = _chinese_number(chinese[0])
        return None if value is None else (Fraction(value), plain[chinese.end() :])
    parts = plain.split(" ")
    for length in range(min(len(parts), 5), 0, -1):
        number = _number_of_words(" ".join(parts[:length]))
        if number is not None:
            return Fraction(number), " ".join(parts[length:])
    return None


@lru_cache(maxsize=1024)
def _number_of_words(text: str) -> int | None:
    if not text.replace("-", "").replace(" ", "").isalpha() or not text.islower():
        return None
    from text_to_num import text2num

    if all(word in ADDED_NUMBERS for word in text.split()):
        return sum(ADDED_NUMBERS[word] for word in text.split())
    for language in _SPOKEN:
        try:
            return int(text2num(text, language))
        except (ValueError, TypeError, OverflowError):
            continue
    return None


def _chinese_number(text: str) -> int | None:
    total = part = digit = 0
    for sign in text:
        if sign in _CJK_DIGITS:
            if digit:
                return None
            digit = _CJK_DIGITS[sign]
        elif sign in "十百千":
            part += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[sign]
            digit = 0
        else:
            total = (total + part + digit) * {"万": 10**4, "亿": 10**8}[sign]
            part = digit = 0
    return total + part + digit


def with_digits(text: str) -> str:
    """Return a folded text with its numbers in words above one as digits: `three` as `3`.

    An article is no number: `ein Käfig`, `one of them`.
    """
    from text_to_num import alpha2digit

    text = fractions_as_digits(text)
    for language in _SPOKEN:
        if language in _OF_LANGUAGE and not _OF_LANGUAGE[language].search(text):
            continue
        if (other := alpha2digit(text, language, threshold=2)) != text:
            return str(other)
    return text


def fractions_as_digits(text: str) -> str:
    """Return a folded text with its fractions in words as digits: `two and a half` as `2 1/2`."""
    if "einhalb" in text or "anderthalb" in text:
        text = text.replace("anderthalb", "1 1/2").replace("eineinhalb", "1 1/2")
        text = _GERMAN_HALF.sub(r"\1 und halb", text)
    return _FRACTION_WORDS.sub(_fraction_as_digits, text)


def _fraction_as_digits(match: re.Match[str]) -> str:
    word = match["whole"] or match["count"]
    number = int(word) if word.isdecimal() and len(word) < 10 else _number_of_words(word)
    if number is None and word in _ARTICLES and not match["whole"]:
        number = 1
    if number is None:
        return match[0]
    if match["whole"]:
        return f"{number} 1/{DENOMINATORS[match['part']]}"
    return f"{number}/{DENOMINATORS[match['parts']]}"
