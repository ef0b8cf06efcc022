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

from pytest_tablebench.metrics._typed_text import folded, is_currency_sign
from pytest_tablebench.metrics._typed_words import (
    CJK_SCALES,
    CURRENCIES,
    FAMILIES,
    LETTERS,
    MONEY_LETTERS,
    NO_UNITS,
    RATIO_NAMES,
    RATIOS,
    SCALES,
    UNITS,
)

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "zh", "ja", "ko")
"""Languages whose names of months, units, currencies and powers of ten are read."""

_LONGEST = 48
_KINDS = frozenset(
    {"area", "digital", "duration", "electric", "energy", "frequency", "length", "mass", "power"}
    | {"pressure", "speed", "temperature", "volume"}
)
_AMBIGUOUS_SCALES = frozenset({"bln", "mi", "bi", "tri", "m", "b", "t", "md"})
"""Abbreviations in CLDR that mean another power of ten or a unit in another language."""
_SINGLE = frozenset("mgshltw%‰°$€£¥₹")
"""One-letter units; other letters are more often part of a name."""
_ATOM = re.compile(r"(°[cf]?|[^\W\d_]+(?:_[^\W\d_]+)*)(-?\d)?")
_OF = re.compile(r"^(?:of\b|d'|de\b|di\b|in\b|an\b|von\b)\s*")
CJK_SCALE = re.compile("|".join(sorted(CJK_SCALES, key=len, reverse=True)))


@dataclass(frozen=True)
class Unit:
    """A unit: its name, or "", and the factor written with it (`million`)."""

    name: str = ""
    scale: int = 1


@lru_cache(maxsize=4096)
def read_unit(text: str) -> Unit:
    """Return the unit that a whole text names: `Mio. EUR`, `kilograms`, `km²`, `products`."""
    plain = text.strip().strip("[]（）()").strip() if len(text) <= _LONGEST else ""
    if plain in LETTERS:
        return Unit("", LETTERS[plain])
    if len(plain) == 3 and plain.isascii() and plain.isupper():
        return Unit(unit_name(plain))
    plain = folded(plain).strip(" .")
    if not plain or unit_name(plain) != plain or plain in UNITS:
        return Unit(unit_name(plain))
    if scale := CJK_SCALE.match(plain):
        return Unit(unit_name(plain[scale.end() :]), CJK_SCALES[scale[0]])
    return _with_scale(plain) or Unit(unit_name(plain))


def _with_scale(plain: str) -> Unit | None:
    """Return a unit with the power of ten before or after it: `million euros`, `EUR bn`."""
    parts = plain.split(" ")
    for count in (2, 1):
        if len(parts) < count:
            continue
        ends = (" ".join(parts[:count]), parts[count:]), (" ".join(parts[-count:]), parts[:-count])
        for words, others in ends:
            rest = _OF.sub("", " ".join(others))
            scale = scale_of(words.replace(".", ""))
            if scale is None and rest and is_currency(unit_name(rest)):
                scale = MONEY_LETTERS.get(words)
            if scale is not None and (others or len(words) > 1):
                return Unit(unit_name(rest), scale)
    return None


def scale_of(words: str) -> int | None:
    scale = SCALES.get(words)
    if scale is None and len(words) > 1 and not words.isdigit() and words not in NO_UNITS:
        return _compact_names().get(words)
    return scale


@lru_cache(maxsize=4096)
def unit_name(text: str) -> str:
    """Return one name for all spellings of a unit: `percent` and `%` are the same."""
    plain = folded(text).replace("^", "").replace("**", "").strip(" .")
    if name := RATIO_NAMES.get(plain) or CURRENCIES.get(plain):
        return name
    code = text.strip(" .")
    if len(code) == 3 and code.isascii() and code.isupper() and code in _codes():
        return code
    if len(plain) > 3 and not plain.isdigit():
        return _ratio_names().get(plain) or _currency_names().get(plain, plain)
    return plain


def is_currency(name: str) -> bool:
    """Return whether a unit's name is the code of a currency, or of a family of currencies."""
    return (
        (len(name) == 3 and name.isascii() and name.isupper())
        or (name in FAMILIES and name not in {"pound", "pounds"})
        or (len(name) == 1 and is_currency_sign(name))
    )


def same_currency(first: str, second: str) -> bool:
    """Return whether two currencies may be the same: `¥` is a sign of two currencies."""
    return first == second or second in FAMILIES.get(first, ()) or first in FAMILIES.get(second, ())


@lru_cache(maxsize=4096)
def is_known(text: str) -> bool:
    """Return whether a text is a unit of measure, a currency or a percent sign."""
    unit = read_unit(text)
    if unit.name == "":
        return unit.scale != 1
    if unit.name in RATIOS or is_currency(unit.name):
        return True
    if unit.name in NO_UNITS or (len(unit.name) == 1 and unit.name not in _SINGLE):
        return not unit.name.isascii() and unit.name in UNITS
    return _measure(unit.name) is not None


@lru_cache(maxsize=4096)
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
def _currency_names() -> dict[str, str]:
    """Return the codes of currencies by their folded names in all languages.

    A name that two currencies have (`peso`) is missing.
    """
    names: dict[str, str] = {}
    for locale in locales():
        plurals = locale._data["currency_names_plural"]
        for code in _codes():
            forms = {locale.currencies.get(code, ""), *dict(plurals.get(code) or {}).values()}
            for form in filter(None, map(str, forms)):
                if names.setdefault(folded(form), code) != code:
                    names[folded(form)] = ""
    return {name: code for name, code in names.items() if code}


@cache
def _ratio_names() -> dict[str, str]:
    """Return `%`, `‰` and `bp` by their folded names in all languages."""
    units = {"concentr-percent": "%", "concentr-permille": "‰", "concentr-permyriad": "bp"}
    return {
        folded(text.replace("{0}", "")).strip(" ."): name
        for locale in locales()
        for unit, name in units.items()
        for text in _texts(locale._data["unit_patterns"].get(unit, {}).get("long", {}))
    }


@cache
def _cldr_names() -> dict[str, str]:
    """Return CLDR units (`square-kilometer`) by their folded names in all languages."""
    names = dict(UNITS)
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
        names = _texts(widths.get("long", {}))
        if is_english or not names:
            names += _texts(widths.get("short", {}))
        yield name, names


def _texts(forms: Any) -> list[str]:
    return [
        forms[name] for name in ("one", "few", "many", "other") if isinstance(forms.get(name), str)
    ]


@cache
def _compact_names() -> dict[str, int]:
    """Return powers of ten by their names in all languages; the first language wins."""
    names: dict[str, int] = {}
    for locale in locales():
        formats = locale.compact_decimal_formats
        for length in ("long", "short"):
            for plurals in formats.get(length, {}).values():
                for size, pattern in plurals.items():
                    text = str(getattr(pattern, "pattern", pattern))
                    zeros = text.count("0")
                    word = folded(re.sub("[0'.]", "", text)).strip()
                    if zeros and len(word) > 1 and word not in _AMBIGUOUS_SCALES:
                        names.setdefault(word, int(size) // 10 ** (zeros - 1))
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
    if not (name and target):
        return None
    if name in RATIOS and target in RATIOS:
        return value * RATIOS[target] / RATIOS[name]
    if same_currency(name, target):
        return value
    if RATIOS.keys() & {name, target} or is_currency(name) or is_currency(target):
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
