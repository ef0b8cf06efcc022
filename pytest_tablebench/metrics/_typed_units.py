"""Units of numbers: one name for all spellings of a unit, and conversions.

Names in other languages come from babel (CLDR), compounds and conversions from pint. Both are
loaded with the first unit that needs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from pytest_tablebench.metrics._typed_text import CJK, folded

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "zh", "ja", "ko")
"""Languages whose names of months, units, currencies and powers of ten are read."""

_LONGEST = 48
_PERCENT = frozenset(
    {"%", "percent", "per cent", "pct", "pct.", "prozent", "pour cent", "por ciento", "procent"}
    | {"percentage point", "percentage points", "pp", "prozentpunkte", "prozentpunkt"}
    | {"points de pourcentage", "point de pourcentage", "百分点", "个百分点"}
)
_CURRENCIES = {
    **dict.fromkeys(("$", "us$", "usd", "us dollars", "dollar", "dollars", "us-dollar"), "USD"),
    **dict.fromkeys(("€", "eur", "euro", "euros"), "EUR"),
    **dict.fromkeys(("£", "gbp", "pounds sterling", "pound sterling"), "GBP"),
    **dict.fromkeys(("¥", "jpy", "yen", "円"), "JPY"),
    **dict.fromkeys(("cny", "rmb", "yuan", "元", "人民币"), "CNY"),
    **dict.fromkeys(("₹", "inr", "rupees"), "INR"),
    **dict.fromkeys(("美元",), "USD"),
    **dict.fromkeys(("欧元",), "EUR"),
}
_SCALES = {
    **dict.fromkeys(("thousand", "thousands", "tausend", "tsd", "mille", "千", "k"), 10**3),
    **dict.fromkeys(("million", "millions", "mio", "mln", "mn", "millionen", "百万"), 10**6),
    **dict.fromkeys(("billion", "billions", "bn", "mrd", "milliarden", "milliards"), 10**9),
    **dict.fromkeys(("trillion", "trillions", "tn"), 10**12),
    "dozen": 12,
    "hundred": 100,
    "hundreds": 100,
    "lakh": 10**5,
    "crore": 10**7,
    "万": 10**4,
    "亿": 10**8,
    "萬": 10**4,
    "億": 10**8,
    "万亿": 10**12,
}
_LETTERS = {"K": 10**3, "k": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_SINGLE = frozenset("mgshltw%$€£¥₹")
"""One-letter units; other letters are more often part of a name."""
_NAMES = {
    "g": "gram",
    "m": "meter",
    "s": "second",
    "h": "hour",
    "l": "liter",
    "t": "tonne",
    "w": "watt",
    "min": "minute",
    "ml": "milliliter",
    "mb": "megabyte",
    "千克": "kilogram",
    "公斤": "kilogram",
    "克": "gram",
    "吨": "tonne",
    "米": "meter",
    "公里": "kilometer",
    "千米": "kilometer",
    "厘米": "centimeter",
    "平方公里": "square-kilometer",
    "平方米": "square-meter",
    "立方米": "cubic-meter",
    "升": "liter",
    "小时": "hour",
    "分钟": "minute",
}
_KINDS = frozenset(
    {"area", "digital", "duration", "electric", "energy", "frequency", "length", "mass", "power"}
    | {"pressure", "speed", "temperature", "volume"}
)
_FUNCTION_WORDS = frozenset(
    {"a", "am", "an", "are", "as", "at", "by", "do", "in", "is", "of", "on", "or", "per", "pm"}
    | {"and", "to", "the", "for", "was", "were", "has", "had", "en", "et", "de", "du", "le", "la"}
    | {"count", "point", "points", "turn", "turns", "note", "gal", "mark", "marks", "bit", "bits"}
    | {"can", "has", "so", "im", "es", "et", "day of", "set", "this", "that", "min.", "b", "c", "d"}
)
_ATOM = re.compile(r"(°[cf]|[^\W\d_]+(?:_[^\W\d_]+)*)(-?\d)?")


@dataclass(frozen=True)
class Unit:
    """A unit: its name, or "", and the factor written with it (`million`)."""

    name: str = ""
    scale: int = 1


@lru_cache(maxsize=4096)
def read_unit(text: str) -> Unit:
    """Return the unit that a whole text names: `Mio. EUR`, `kilograms`, `km²`, `products`."""
    plain = text.strip().strip("[]（）()").strip() if len(text) <= _LONGEST else ""
    if plain in _LETTERS:
        return Unit("", _LETTERS[plain])
    if len(plain) == 3 and plain.isupper():
        return Unit(unit_name(plain))
    plain = folded(plain).strip(" .")
    for head, tail in ((plain[:3], plain[3:]), (plain[:2], plain[2:]), (plain[:1], plain[1:])):
        if head in _SCALES and re.match(rf"[{CJK}]", head):
            return Unit(unit_name(tail), _SCALES[head])
    parts = plain.split(" ")
    for place in (0, -1):
        word = parts[place].strip(".")
        scale = _scale(word) if word else None
        if scale is not None and (len(parts) > 1 or len(word) > 1):
            rest = " ".join(parts[1:] if place == 0 else parts[:-1])
            rest = re.sub(r"^(?:of|d'|de|in|an)\s*", "", rest)
            return Unit(unit_name(rest), scale)
    return Unit(unit_name(plain))


def _scale(word: str) -> int | None:
    scale = _SCALES.get(word)
    if scale is None and word.isalpha() and len(word) > 2 and word[:3] in {"mil", "mld", "bil"}:
        return _compact_names().get(word)
    return scale


def unit_name(text: str) -> str:
    """Return one name for all spellings of a unit: `percent` and `%` are the same."""
    plain = folded(text).replace("^", "").replace("**", "").strip(" .")
    if plain in _PERCENT:
        return "%"
    if plain in _CURRENCIES:
        return _CURRENCIES[plain]
    code = text.strip(" .")
    if len(code) == 3 and code.isascii() and code.isupper() and code in _codes():
        return code
    return plain


def is_currency(name: str) -> bool:
    """Return whether a unit's name is the code of a currency."""
    return len(name) == 3 and name.isupper()


@lru_cache(maxsize=4096)
def is_known(text: str) -> bool:
    """Return whether a text is a unit of measure, a currency or a percent sign."""
    unit = read_unit(text)
    if unit.name == "":
        return unit.scale != 1
    if unit.name == "%" or is_currency(unit.name):
        return True
    if unit.name in _FUNCTION_WORDS or (len(unit.name) == 1 and unit.name not in _SINGLE):
        return not unit.name.isascii() and unit.name in _NAMES
    return _measure(unit.name) is not None


def _measure(name: str) -> tuple[tuple[str, int], ...] | None:
    """Return a unit as CLDR names with their powers; None for any other word."""
    expression = _expression(name)
    units: list[tuple[str, int]] = []
    for number, part in enumerate(expression.split("/")):
        for atom in part.replace("·", " ").replace("*", " ").split():
            match = _ATOM.fullmatch(atom)
            unit = _cldr_name(match[1]) if match else None
            if match is None or unit is None:
                return None
            power = int(match[2] or 1)
            units.append((unit, -power if number else power))
    return tuple(units) or None


def _expression(name: str) -> str:
    whole = _cldr_names().get(name)
    if whole is not None:
        return name.replace(" ", "_")
    text = re.sub(r"\s+(?:per|pro|par)\s+|\s?/\s?", "/", name)
    text = re.sub(r"\b(?:square|sq\.?)\s(\w+)", r"\g<1>2", text)
    text = re.sub(r"\b(?:cubic|cu\.?)\s(\w+)", r"\g<1>3", text)
    return re.sub(r"\b(\w+) squared\b", r"\g<1>2", text)


def _cldr_name(atom: str) -> str | None:
    names = _cldr_names()
    word = atom.replace("_", " ")
    for form in (word, word.removesuffix("s"), re.sub("tre(s?)$", r"ter\1", word)):
        if form in names and not (len(form) == 1 and form.isascii() and form not in _SINGLE):
            return names[form]
    return None


@cache
def locales() -> tuple[Any, ...]:
    """Return babel's locales of the languages."""
    from babel import Locale

    return tuple(Locale.parse(language) for language in LANGUAGES)


@cache
def _codes() -> frozenset[str]:
    return frozenset(code for code in locales()[0].currencies if not code.startswith("X"))


@cache
def _cldr_names() -> dict[str, str]:
    """Return CLDR units (`square-kilometer`) by their folded names in all languages."""
    names = dict(_NAMES)
    for locale in locales():
        for unit, patterns in _patterns(locale):
            for pattern in patterns:
                word = folded(pattern.replace("{0}", "")).replace("^", "").strip(" .")
                if word and not word[0].isdigit():
                    names.setdefault(word, unit)
    return names


def _patterns(locale: Any) -> Iterator[tuple[str, list[str]]]:
    data = locale._data["unit_patterns"]
    is_english = locale.language == "en"
    for unit, widths in data.items():
        kind, _, name = unit.partition("-")
        if kind not in _KINDS or name.endswith("-jp"):
            continue
        lengths = ("long", "short") if is_english else ("long",)
        yield name, [text for length in lengths for text in _texts(widths.get(length, {}))]


def _texts(forms: Any) -> list[str]:
    return [
        forms[name] for name in ("one", "few", "many", "other") if isinstance(forms.get(name), str)
    ]


@cache
def _compact_names() -> dict[str, int]:
    """Return powers of ten by their names in all languages; the first language wins."""
    names: dict[str, int] = {}
    for locale in locales():
        for plurals in locale.compact_decimal_formats.get("long", {}).values():
            for size, pattern in plurals.items():
                text = str(getattr(pattern, "pattern", pattern))
                word = folded(text.replace("0", "").replace("'", "")).strip(" .")
                if word and word.isalpha():
                    names.setdefault(word, int(size) // 10 ** max(text.count("0") - 1, 0))
    return names


@cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry()


@lru_cache(maxsize=4096)
def _pint_unit(name: str) -> Any:
    measure = _measure(name)
    if measure is None:
        return None
    registry = _registry()
    product = registry.Unit("")
    try:
        for cldr, power in measure:
            product = product * _of_cldr(registry, cldr) ** power
    except Exception:
        return None
    return product


def _of_cldr(registry: Any, name: str) -> Any:
    numerator, _, denominator = name.partition("-per-")
    if denominator:
        return _of_cldr(registry, numerator) / _of_cldr(registry, denominator)
    for prefix, power in (("square-", 2), ("cubic-", 3)):
        if name.startswith(prefix):
            return _of_cldr(registry, name.removeprefix(prefix)) ** power
    other = {"celsius": "degree_Celsius", "fahrenheit": "degree_Fahrenheit", "tonne": "metric_ton"}
    return registry.Unit(other.get(name, name.replace("-", "_")))


def converted(value: Fraction, name: str, target: str) -> Fraction | None:
    """Return a value in another unit; None if the two units do not measure the same."""
    if name == target:
        return value
    if {name, target} == {"GBP", "pounds"} or {name, target} == {"GBP", "pound"}:
        return value
    if "%" in {name, target} or is_currency(name) or is_currency(target) or not (name and target):
        return None
    first, second = _measure(name), _measure(target)
    if first is None or second is None:
        return None
    if first == second:
        return value
    units = _pint_unit(name), _pint_unit(target)
    if None in units or units[0].dimensionality != units[1].dimensionality:
        return None
    try:
        size = float(_registry().Quantity(float(value), units[0]).to(units[1]).magnitude)
        # Floats are exact to 15 digits; degrees are differences of large numbers.
        is_temperature = "[temperature]" in units[0].dimensionality
        return Fraction(f"{round(size, 9) if is_temperature else size:.12g}")
    except Exception:
        return None
