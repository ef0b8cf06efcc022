"""Reader of TOML sections as frozen dataclasses: it checks field types and reports line numbers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from pytest_tablebench.datasets.files import inside
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import known_names, shortened

Section = TypeVar("Section")

_MOST_BYTES = 100_000
_MOST_KEY_PARTS = 8
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*',
    re.DOTALL,
)
# The lookbehind starts a match only at a key's first letter, so that long keys take linear time.
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_MOST_KEY_PARTS}}}[\w-]")
_HEADING = re.compile(r"\s*\[\s*([\w.\"' -]+?)\s*\]\s*(?:#|$)")
_KEY = re.compile(r"\s*[\"']?([\w-]+)[\"']?\s*(?:\.\s*[\w.-]+\s*)?=")


@dataclass(frozen=True)
class Mistake:
    """A mistake in a file, with its line from 1; the line is None for the whole file."""

    line: int | None
    message: str

    @property
    def text(self) -> str:
        """The message with its line."""
        return self.message if self.line is None else f"line {self.line}: {self.message}"


def toml_of(folder: Path, name: str) -> tuple[dict[str, Any], str]:
    """Return a TOML file's content, parsed and as text. Raises `DataError`, naming the file."""
    try:
        if (folder / name).stat().st_size > _MOST_BYTES:
            raise DataError(f"{name}: larger than {_MOST_BYTES:,} bytes")
        text = inside(folder, name).read_text(encoding="utf-8-sig")
        # The parser's time grows with the square of the number of parts in a key.
        if _LONG_KEY.search(_STRING.sub("s", text)):
            raise DataError(f"{name}: a key of more than {_MOST_KEY_PARTS} parts with dots between")
        return tomllib.loads(text), text
    except RecursionError:
        raise DataError(f"{name}: brackets are nested too deeply to be read") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{name}: {shortened(str(error), 200)}") from None


class SectionReader:
    """Converts sections of a TOML file to dataclasses, and collects the mistakes in them.

    Arguments:
        text: the text of the file, for line numbers.
    """

    def __init__(self, text: str) -> None:
        self.mistakes: list[Mistake] = []
        self._lines = _lines_of(text)

    def add(self, keys: tuple[str, ...], message: str) -> None:
        """Add a mistake at `keys`: the names of the sections, outermost first, and the key."""
        while keys and keys not in self._lines:
            keys = keys[:-1]
        self.mistakes.append(Mistake(self._lines.get(keys), message))

    def section(
        self, kind: type[Section], content: Mapping[str, Any], keys: tuple[str, ...] = ()
    ) -> Section:
        """Return a section; a value of the wrong type is a mistake and leaves the default."""
        fields_by_key = _fields(kind)
        values: dict[str, Any] = {}
        for key, value in content.items():
            if key not in fields_by_key:
                label = shortened(key, 60)
                hint = known_names(key, fields_by_key)
                self.add((*keys, key), f"unknown key {label!r}; {hint}")
                continue
            read = self._value(fields_by_key[key][1], value, (*keys, key))
            if read is not None:
                values[key] = read
        for name, (field, _) in fields_by_key.items():
            is_required = field.default is MISSING and field.default_factory is MISSING
            if is_required and not values.get(name):
                if not content.get(name):
                    self.add(keys, f"{name} is missing")
                values[name] = ""
        return kind(**values)

    def _value(self, hint: Any, value: Any, keys: tuple[str, ...]) -> Any:
        """Return a value converted to a field's type; add a mistake and return None on failure."""
        for part in _parts(hint):
            kind: Any = get_args(part)[1] if get_origin(part) is Mapping else part
            if not (isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict)):
                continue
            if kind is part:
                return self.section(kind, value, keys)
            if all(isinstance(item, dict) for item in value.values()):
                sections = value.items()
                return {name: self.section(kind, item, (*keys, name)) for name, item in sections}
        for part in _parts(hint):
            if part in _KINDS and _KINDS[part][0](value):
                return _KINDS[part][1](value)
        kinds = " or ".join(
            _KINDS[part][2] if part in _KINDS else "a section" for part in _parts(hint)
        )
        self.add(keys, f"{keys[-1]} must be {kinds}")
        return None


def _parts(hint: Any) -> tuple[Any, ...]:
    """Return the alternatives of a type, without None."""
    alternatives = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return tuple(part for part in alternatives if part is not type(None))


def _fields(kind: Any) -> dict[str, tuple[Field[Any], Any]]:
    """Return (field, type) of each field of a section, by name."""
    if kind not in _KNOWN_FIELDS:
        hints = get_type_hints(kind)
        _KNOWN_FIELDS[kind] = {field.name: (field, hints[field.name]) for field in fields(kind)}
    return _KNOWN_FIELDS[kind]


_KNOWN_FIELDS: dict[Any, dict[str, tuple[Field[Any], Any]]] = {}
"""A cache by section, because evaluating type hints takes longer than reading a file."""


def _lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Return the line, from 1, of each key and section, by the names of sections and key."""
    bare = _STRING.sub(lambda match: "s" + "\n" * match[0].count("\n"), text)
    lines: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    for number, line in enumerate(bare.split("\n"), start=1):
        if heading := _HEADING.match(line):
            section = tuple(part.strip(" \"'") for part in heading[1].split("."))
            lines.setdefault(section, number)
        elif key := _KEY.match(line):
            lines.setdefault((*section, key[1]), number)
    return lines


def _is_mapping(value: Any, kind: type = object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, kind) for item in value.values())


def _is_number(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool) and value >= 0


def _is_texts(value: Any) -> bool:
    is_list = isinstance(value, list) and bool(value)
    return is_list and all(isinstance(item, str) for item in value)


_KINDS: Mapping[Any, tuple[Callable[[Any], bool], Callable[[Any], Any], str]] = {
    str: (lambda value: isinstance(value, str), str, "a text"),
    int: (lambda value: _is_number(value, int), int, "a whole number"),
    float: (
        lambda value: _is_number(value, int | float) and value <= 1,
        float,
        "a number from 0 to 1",
    ),
    bool: (lambda value: isinstance(value, bool), bool, "true or false"),
    tuple[str, ...]: (_is_texts, tuple, "a list of texts"),
    Mapping[str, Any]: (
        _is_mapping,
        MappingProxyType,
        "names and values: { max_tokens = 200 }",
    ),
    Mapping[str, str]: (
        lambda value: _is_mapping(value, str),
        MappingProxyType,
        'names and texts: { type = "level" }',
    ),
}
"""For each type of a field: whether a value fits, its conversion, and its name in messages."""
