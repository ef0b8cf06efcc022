"""The fonts of pictures: the choice of a font, the width of texts, and line breaks.

Latin, Greek, Cyrillic, Arabic, Hebrew and symbols use DejaVu Sans, which is part of matplotlib.
Chinese and Japanese use Droid Sans Fallback, a file in this package (Apache 2.0). Korean uses Nanum
Gothic (OFL), from the extra `korean`. No font of the system is used, so a picture is the same on
every machine. Thai and the scripts of South Asia are refused with any fonts: without shaping their
marks overlap, and shaping needs a library of the system.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.errors import TableError, missing_package

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

_HAN = "DroidSansFallbackFull.ttf"
_PLAIN, _BOLD = "DejaVuSans.ttf", "DejaVuSans-Bold.ttf"
_HANGUL = "NanumGothic.ttf"
_PACKAGES = {
    _PLAIN: ("matplotlib", "mpl-data/fonts/ttf"),
    _BOLD: ("matplotlib", "mpl-data/fonts/ttf"),
    _HANGUL: ("koreanize_matplotlib", "fonts"),
}
"""The package that contains a font, and the folder in it."""
_WORDS = re.compile(r"[\u2e80-\u9fff\uf900-\uffef]|[^\s\u2e80-\u9fff\uf900-\uffef]+\s*|\s+")
"""The pieces between which a line may break: words, and single Chinese or Japanese characters."""


def _path(name: str) -> Path:
    if name == _HAN:
        return Path(__file__).with_name("fonts") / name
    # Find the package's files without importing it, which would take half a second.
    package, folder = _PACKAGES[name]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise TableError(f"cannot be drawn: {package}, whose fonts are used, is not installed")
    return Path(spec.submodule_search_locations[0], folder, name)


@lru_cache
def _characters(name: str) -> frozenset[int]:
    from fontTools.ttLib import TTFont

    with TTFont(_path(name), lazy=True) as font:
        return frozenset(font.getBestCmap())


def without_marks(text: str) -> str:
    """Return the text to draw: composed (NFC), without invisible characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        for character in unicodedata.normalize("NFC", text)
        if character == "\n"
        or (unicodedata.category(character) not in {"Cc", "Cf"} and not _selects(character))
    )


def _selects(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f"  # it selects a form of the character before it


def _as_seen(line: str) -> str:
    """Return a line in drawing order from left to right, with Arabic letters joined."""
    if not any(unicodedata.bidirectional(character) in {"R", "AL"} for character in line):
        return line
    from bidi.algorithm import get_display  # this variant of the two mirrors brackets

    return str(get_display(_joining()(line)))


@lru_cache
def _joining() -> Callable[[str], str]:
    """Return the function that joins Arabic letters, without a ligature that the fonts lack."""
    from arabic_reshaper import ArabicReshaper

    joined: Callable[[str], str] = ArabicReshaper({"ARABIC LIGATURE ALLAH": False}).reshape
    return joined


class Fonts:
    """The fonts of one size, in pixels."""

    def __init__(self, size: int) -> None:
        self.size = size
        ascent, descent = self._font(_PLAIN).getmetrics()
        self.ascent, self.line = ascent, ascent + descent
        self._widths: dict[tuple[str, bool], int] = {}

    @lru_cache  # noqa: B019 - the few objects, one per size, are never freed anyway
    def _font(self, name: str) -> FreeTypeFont:
        from PIL import ImageFont

        # The other engine depends on a library of the system, and places letters differently.
        basic = ImageFont.Layout.BASIC
        return ImageFont.truetype(str(_path(name)), self.size, layout_engine=basic)

    def runs(self, text: str, *, bold: bool) -> Iterator[tuple[FreeTypeFont, str]]:
        """Yield the pieces of one line, each with its font.

        Raises `TableError` for a character that no font has.
        """
        latin = _BOLD if bold else _PLAIN
        if text.isascii():
            yield self._font(latin), text
            return
        text, start, last = _as_seen(text), 0, latin
        for index, character in enumerate(text):
            name = last if character == " " else _font_of(character, latin)
            if name != last:
                if index > start:
                    yield self._font(last), text[start:index]
                start, last = index, name
        yield self._font(last), text[start:]

    def width(self, text: str, *, bold: bool = False) -> int:
        """Return the width of one line, in pixels."""
        key = text, bold
        if key not in self._widths:
            width = sum(font.getlength(piece) for font, piece in self.runs(text, bold=bold))
            if len(self._widths) > 50_000:
                self._widths.clear()
            self._widths[key] = ceil(width)
        return self._widths[key]

    def wrapped(self, text: str, width: int, *, bold: bool = False) -> list[str]:
        """Return the lines of a text, broken to `width` pixels; a wider character is not cut."""
        lines = []
        for paragraph in text.split("\n"):
            lines += self._broken(paragraph, width, bold=bold)
        return lines

    def _broken(self, text: str, width: int, *, bold: bool) -> list[str]:
        if self.width(text, bold=bold) <= width:
            return [text]
        lines, line = [], ""
        for word in _WORDS.findall(text):
            if self.width((line + word).rstrip(), bold=bold) <= width:
                line += word
                continue
            if line.strip():
                lines.append(line.rstrip())
            line = word.lstrip()
            while self.width(line.rstrip(), bold=bold) > width and len(line) > 1:
                most = self._fitting(line, width, bold=bold)
                lines.append(line[:most])
                line = line[most:]
        return [*lines, line.rstrip()] if line.strip() or not lines else lines

    def _fitting(self, word: str, width: int, *, bold: bool) -> int:
        """Return the number of characters of a word that fit, at least one."""
        counts = range(1, len(word) + 1)
        return bisect_right(counts, width, key=lambda n: self.width(word[:n], bold=bold)) or 1


def _font_of(character: str, latin: str) -> str:
    for name in (latin, _PLAIN, _HAN):
        if ord(character) in _characters(name):
            return name
    more = ""
    if unicodedata.name(character, "").startswith("HANGUL"):
        if find_spec(_PACKAGES[_HANGUL][0]) is None:
            more = f"; {missing_package('Korean', _PACKAGES[_HANGUL][0], 'korean')}"
        elif ord(character) in _characters(_HANGUL):
            return _HANGUL
    raise TableError(f"has {character!r} (U+{ord(character):04X}), which no font here draws{more}")


@lru_cache
def fonts(size: int) -> Fonts:
    """Return the fonts of a size, loaded once."""
    return Fonts(size)
