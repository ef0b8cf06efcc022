"""The text of files: their encoding, and the sources of tables in text formats."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pytest_tablebench.errors import TableError
from pytest_tablebench.util.names import shortened

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is the start of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_COMMENT = re.compile(rb"<!--.*?(?:-->|$)", re.DOTALL)
_DECLARED = re.compile(
    rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]{1,40})"""
    rb"""|\A\s*<\?xml[^>]{0,200}encoding\s*=\s*["']([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_DECLARED_WITHIN = 4096
"""The bytes at the start of a page that may declare its encoding."""

# Browsers read a declared encoding as the larger one (Encoding Standard).
_CODECS = (
    (re.compile(r"gb.*|chinese"), "gb18030"),
    (re.compile(r"s(?:hift)?[-_]?jis|ms_kanji|windows-31j"), "cp932"),
    (re.compile(r"euc-kr|ks_?c.*|korean|windows-949"), "cp949"),
    (re.compile(r"(?:x-|cn-)?big5.*"), "big5hkscs"),
    (re.compile(r"iso-?8859-1|(?:us-)?ascii|latin-?1|windows-1252|cp1252"), "cp1252"),
    (re.compile(r"iso-?8859-9|latin-?5"), "cp1254"),
    (re.compile(r"iso-?8859-11|tis-620|windows-874"), "cp874"),
    (re.compile(r"utf-?(?:8|16.*)"), "utf-8-sig"),
    (re.compile(r"(?:windows-|cp)125\d|iso-?8859-\d+|koi8-[ru]|euc-jp|iso-2022-jp"), ""),
    (re.compile(r"latin-?\d|greek|hebrew|arabic|cyrillic|macintosh|mac-cyrillic|cp866"), ""),
)

_LETTERS = "À-ÖØ-öø-ÿŒœŠšŽžŸ"
_WORD = re.compile(f"[A-Za-z{_LETTERS}]*[{_LETTERS}][A-Za-z{_LETTERS}]*")
_LANGUAGES = tuple(
    map(
        frozenset,
        (
            "àâæçéèêëîïôœùûüÿ",  # French
            "áéíóúüñïç",  # Spanish
            "àçéèíïóòúü",  # Catalan
            "àèéìíîòóùú",  # Italian
            "áâãàçéêíóôõúü",  # Portuguese
            "äöüßé",  # German
            "åäöéšžü",  # Swedish, Finnish
            "æøåéóòô",  # Danish, Norwegian
            "ëïéèöüóáê",  # Dutch, Albanian
            "õäöüšž",  # Estonian
        ),
    )
)
_ICELANDIC = frozenset("áéíóúýþæöð")
_ALL_LETTERS = frozenset("šžœ").union(*_LANGUAGES)
_SIGN = "ˆ‰˜ƒ¢£¤¥¦§¨¬¯±²³µ¶¸¹¼½¾×÷€"
_ODD = re.compile(
    f"[{_SIGN}][{_LETTERS}{_SIGN}]|[{_LETTERS}][{_SIGN}]|[{_LETTERS}]{{3}}"
    f"|[\xa1-\xbf][{_LETTERS}](?![A-Za-z])|[a-zß-ÿ][À-ÖØ-ÞŒŠŽŸ]|[aeiouŒœ][Œœ]|[Œœ][nwŒœ]"
    f"|[A-Za-z][ƒ£¤¥¦§¨¬¯²³¶¸¹¼½¾¿¡ˆ˜‰][A-Za-z]|ƒ[A-Za-z]"
)
"""Neighbours that Western text does not have, and text in other encodings soon has."""


def decode(data: bytes, *, is_html: bool = False, encoding: str = "") -> tuple[str, str | None]:
    """Return the text of a file, and the name of its encoding, None for UTF-8.

    `encoding` is the encoding of a file that is not UTF-8; without it, such a file is read only if
    it looks like a Western language. Raises `TableError`, without the file's name.
    """
    for name in _candidates(data, is_html=is_html, encoding=encoding):
        try:
            text = data.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        if "\0" in text:
            continue
        return text, None if name.startswith("utf-8") else name
    if b"\0" in data:
        raise TableError("is not a text file")
    if encoding:
        raise TableError(f"is neither UTF-8 nor {encoding}, the encoding in tablebench.toml")
    line = data.count(b"\n", 0, _first_odd_byte(data)) + 1
    raise TableError(
        f"line {line} is not UTF-8, and the encoding is not clear: save the file as UTF-8, or name "
        f'its encoding in tablebench.toml, such as encoding = "gb18030", "cp932" or "cp1251"'
    )


def is_encoding(name: str) -> bool:
    """Return whether Python knows a text encoding of this name."""
    try:
        b"a".decode(name)
    except (LookupError, ValueError):
        return False
    return True


def declared_encoding(data: bytes) -> str:
    """Return Python's name of the encoding that a page declares; "" without a known one."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    match = _DECLARED.search(_COMMENT.sub(b"", data[:_DECLARED_WITHIN]))
    label = (match[1] or match[2]).decode("ascii", "replace").lower() if match else ""
    label = label.removeprefix("x-")
    for pattern, codec in _CODECS:
        if pattern.fullmatch(label):
            return codec or label
    return ""


def _candidates(data: bytes, *, is_html: bool, encoding: str) -> Iterator[str]:
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    if marked:
        yield marked
        return
    if is_html and (declared := declared_encoding(data)):
        yield declared
    yield "utf-8"
    # Latin letters in UTF-16 have a zero as every other byte.
    if len(data) > 1 and len(data) % 2 == 0:
        for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
            if data[start::2].count(0) * 2 > len(data[start::2]):
                yield name
    if encoding:
        yield encoding
    elif _is_western(data):
        yield "cp1252" if any(0x80 <= byte < 0xA0 for byte in data) else "latin-1"


def _first_odd_byte(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _is_western(data: bytes) -> bool:
    """Return whether bytes are text of a Western language in cp1252, word by word."""
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    if _ODD.search(text) or ("“" in text and not re.search("[”„]", text)):
        return False
    if "‚" in text and not re.search("[‘’]", text):
        return False
    used = set(text.lower()) - set(map(chr, range(0x80)))
    if used & set("þðý") and used & _ALL_LETTERS - _ICELANDIC:
        return False
    if used & set("šž") and used & set("èìòïùæøð"):
        return False
    for word in {match[0].lower() for match in _WORD.finditer(text)}:
        letters = {letter for letter in word if letter > "\x7f"}
        is_plain = len(word) == 1 or not letters >= set(word)
        if not is_plain or not any(letters <= each for each in (*_LANGUAGES, _ICELANDIC)):
            return False
    return True


def has_line_end(text: str) -> bool:
    """Return whether a text has more than one line."""
    return "\n" in text or "\r" in text


def read_text(
    source: str | os.PathLike[str], kind: str, is_text: Callable[[str], bool], rule: str
) -> tuple[str, str | None, str]:
    """Return the text, the file's name or None, and the label for messages."""
    if isinstance(source, str) and is_text(source):
        return source.removeprefix("\ufeff"), None, f"{kind} text"
    path = to_path(source, kind)
    where = f"{kind} file {shortened(str(path), 300)!r}"
    hint = f"; {kind} text instead of a path {rule}" if isinstance(source, str) else ""
    data = read_bytes(path, where, hint)
    encoding = declared_encoding(data) if kind == "HTML" else ""
    try:
        return data.decode(encoding or "utf-8-sig"), path.name, where
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{where}, line {line}: byte {error.object[error.start]:#04x} is not "
            f"{encoding or 'UTF-8'}; convert the file to UTF-8"
        ) from error


def to_path(source: str | os.PathLike[str], kind: str) -> Path:
    """Return a source as a path. Raises `TableError` for other types and an empty path."""
    if not isinstance(source, str | os.PathLike) or not isinstance(os.fspath(source), str):
        raise TableError(f"{kind}: a path or text is needed, not {type(source).__name__}")
    if not os.fspath(source):
        raise TableError(f"{kind}: the path is empty")
    return Path(source)


def read_bytes(path: Path, where: str, hint: str) -> bytes:
    """Return a file's bytes. Raises `TableError`, which ends with `hint` for a missing file."""
    try:
        if path.is_dir():
            raise TableError(f"{where} is a folder, not a file")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise TableError(f"{where} does not exist{hint}") from error
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise TableError(f"{where} cannot be read: {reason}{hint}") from error
