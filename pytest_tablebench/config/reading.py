"""Readers of option values, one for each kind of value.

A reader parses a value of the command line or an ini file and returns the value for `Settings`. It
raises `SettingsError` that names the option, its value, and the expected form.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pytest_tablebench.config.addresses import (
    address_fault,
    header_fault,
    is_shared,
    shared_fault,
    without_credentials,
)
from pytest_tablebench.config.compat import Compat, check_compat
from pytest_tablebench.config.parameters import check_efforts
from pytest_tablebench.errors import SettingsError, errors_of
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import split_names, unknown_name

NEW_NAME = "new"
"""The value of `--bench-fresh` without a name: the run gets a name of its own."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True)
class RawOption:
    """The value of an option before it is read.

    Arguments:
        flag: the option, as it is written on a command line.
        value: a text, a list of texts, or a typed value of a configuration file.
        base: the folder that relative paths start from.
    """

    flag: str
    value: Any
    base: Path


Reader = Callable[[RawOption], Any]


def texts(raw: RawOption) -> tuple[str, ...]:
    """Return the distinct texts of a repeatable option."""
    values = [raw.value] if isinstance(raw.value, str) else list(raw.value)
    cleaned = [str(text).strip() for text in values]
    if not all(cleaned):
        raise SettingsError(f"{raw.flag} needs a name, not an empty text")
    return tuple(dict.fromkeys(cleaned))


def names(raw: RawOption) -> tuple[str, ...]:
    """Return the distinct names in texts separated by commas."""
    names_read = [name for text in texts(raw) for name in split_names(text)]
    if not names_read:
        raise SettingsError(f"{raw.flag} contains no name; write names separated by commas")
    return tuple(dict.fromkeys(names_read))


def one_name(meaning: str) -> Reader:
    """Return a reader of a single name; `meaning` describes it in messages."""

    def read(raw: RawOption) -> str:
        name = str(raw.value).strip()
        if not name:
            raise SettingsError(f"{raw.flag} needs {meaning}, not an empty text")
        return name

    return read


def known_names(kind: str, choices: Sequence[str]) -> Reader:
    """Return a reader of names that must be among `choices`."""

    def read(raw: RawOption) -> tuple[str, ...]:
        names_read = names(raw)
        for name in names_read:
            if name not in choices:
                raise SettingsError(f"{raw.flag}: {unknown_name(kind, name, choices)}")
        return names_read

    return read


def number(
    kind: type[int] | type[float],
    low: float,
    meaning: str,
    *,
    high: float = math.inf,
) -> Reader:
    """Return a reader of numbers from `low` to `high`; `meaning` describes them in messages."""

    def read(raw: RawOption) -> int | float:
        try:
            value = kind(str(raw.value))
            # Infinity is no number of anything, and NaN is in no range.
            if not low <= value <= high or abs(value) == math.inf:
                raise ValueError
        except ValueError:
            label = str(raw.value)
            raise SettingsError(f"{raw.flag} takes {meaning}, not {label!r}") from None
        return value

    return read


def generation(raw: RawOption) -> str:
    """Read the name of a generation of answers."""
    text = str(raw.value).strip()
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", text) is None:
        raise SettingsError(
            f"{raw.flag} takes a name of up to 40 letters, digits, dots, dashes and "
            f"underscores, not {text!r}"
        )
    return text


def age(raw: RawOption) -> float:
    """Read an age such as `7d`, `12h` or `30m`; return it in seconds."""
    match = re.fullmatch(r"([0-9]{1,6})([dhm])|0", str(raw.value).strip())
    if match is None:
        label = str(raw.value)
        raise SettingsError(
            f"{raw.flag} takes days, hours or minutes (7d, 12h, 30m) or 0, not {label!r}"
        )
    return int(match[1] or 0) * {"d": 86400.0, "h": 3600.0, "m": 60.0}[match[2] or "d"]


def limit(raw: RawOption) -> int | Literal["all"]:
    """Read a number of examples, or `all`."""
    if str(raw.value).strip() == "all":
        return "all"
    count: int = number(int, 1, "all or a whole number from 1")(raw)
    return count


def shard(raw: RawOption) -> str:
    """Read a part of the cases as `number/count`."""
    match = re.fullmatch(r"\s*0*([1-9][0-9]{0,5})/0*([1-9][0-9]{0,5})\s*", str(raw.value))
    if match is None or int(match[1]) > int(match[2]):
        label = str(raw.value)
        raise SettingsError(f"{raw.flag} takes I/N, part I of N, from 1/N to N/N, not {label!r}")
    return f"{match[1]}/{match[2]}"


def folder(raw: RawOption) -> Path:
    """Read a folder, which need not exist."""
    # A shell does not expand the ~ in --bench-data=~/tables.
    return raw.base / Path(str(raw.value)).expanduser()


def stores(raw: RawOption) -> tuple[Path | str, ...]:
    """Read several stores: folders, or addresses of shared stores."""
    return tuple(_store(raw, text) for text in texts(raw))


def store(raw: RawOption) -> Path | str | None:
    """Read a store: a folder, the address of a shared store, or None without a store."""
    return None if raw.value == "none" else _store(raw, str(raw.value))


def _store(raw: RawOption, text: str) -> Path | str:
    if not is_shared(text):
        return raw.base / Path(text).expanduser()
    fault = shared_fault(text)
    if fault is not None:
        raise SettingsError(f"{raw.flag} {without_credentials(text)}: {fault}")
    return text.rstrip("/")


def existing_file(raw: RawOption) -> Path:
    """Read the path of a file, which must exist."""
    path = folder(raw)
    if not path.is_file():
        raise SettingsError(f"{raw.flag}: {path} is not a file")
    return path


def existing_folder(raw: RawOption) -> Path:
    """Read the folder of the datasets, which must exist."""
    path = folder(raw)
    if not path.is_dir():
        raise SettingsError(
            f"{raw.flag}: {path} is not a folder; give the folder that contains "
            f"one folder per dataset"
        )
    return path


def switch(raw: RawOption) -> bool:
    """Read an option without a value; its ini key is yes or no."""
    if isinstance(raw.value, bool):
        return raw.value
    text = str(raw.value).strip().lower()
    if text in {"true", "yes", "on", "1"}:
        return True
    if text in {"false", "no", "off", "0"}:
        return False
    key = raw.flag.lstrip("-").replace("-", "_")
    raise SettingsError(f"{key} takes true or false, not {str(raw.value)!r}")


def switch_off(raw: RawOption) -> bool:
    """Read an option that switches something off."""
    return not switch(raw)


def choice(*words: str) -> Reader:
    """Return a reader of one of these words."""

    def read(raw: RawOption) -> str:
        if (text := str(raw.value)) not in words:
            raise SettingsError(f"{raw.flag}: {unknown_name('mode', text, words)}")
        return text

    return read


def efforts(raw: RawOption) -> tuple[str, ...]:
    """Read how much models think: litellm's words, or budgets in tokens."""
    values = raw.value if isinstance(raw.value, list | tuple) else [raw.value]
    parts = [part for value in values for part in split_names(str(value))]
    return check_efforts(raw.flag, parts)


def compat(raw: RawOption) -> Compat:
    """Read the mode of metrics and prompts."""
    with errors_of(raw.flag):
        return check_compat(str(raw.value))


def address(raw: RawOption) -> str:
    """Read the address of a server. An error never contains its password."""
    url = str(raw.value)
    fault = address_fault(url)
    if fault is not None:
        raise SettingsError(f"{raw.flag} {fault}")
    return url


def params(raw: RawOption) -> dict[str, Any]:
    """Read parameters of model calls by name; a value is JSON, or else text."""
    from pytest_tablebench.config.parameters import RESERVED
    from pytest_tablebench.config.secrets import BY_PLACE, secret_name

    values: dict[str, Any] = {}
    for text in texts(raw):
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise SettingsError(f"{raw.flag} takes key=value, not {name!r}")
        try:
            values[name] = parsed_json(value)
        except ValueError:
            values[name] = value
        if name in BY_PLACE:
            _check_placed(f"{raw.flag} {name}", name, values[name])
            continue
        secret = secret_name(name, values[name])
        if secret is not None:
            # Parameters are written to the run folder; keys must never be.
            inside = "" if secret == name else f": {secret}"
            raise SettingsError(
                f"{raw.flag} {name}{inside}: a key must not be given here; "
                f"set the provider's environment variable (OPENAI_API_KEY, ...)"
            )
        if name in RESERVED:
            raise SettingsError(f"{raw.flag} {name}: the run itself sets this parameter")
    return values


def _check_placed(flag: str, name: str, value: object) -> None:
    """Raise `SettingsError` for headers or a query that cannot be sent; never quotes a value."""
    if not isinstance(value, Mapping) or not value:
        raise SettingsError(f'{flag} takes a JSON object, as in {name}={{"Name": "value"}}')
    for key, content in value.items():
        if name == "extra_headers":
            fault = "no text" if not isinstance(content, str) else header_fault(content)
            fault = fault or (None if _HEADER_NAME.fullmatch(key) else "an invalid name")
            if fault is not None:
                raise SettingsError(f"{flag}: {key} has {fault}, which HTTP cannot send")


def thresholds(raw: RawOption) -> dict[str, float]:
    """Read thresholds by dataset."""
    by_dataset = {}
    for text in texts(raw):
        name, _, value = text.partition("=")
        try:
            threshold = float(value)
        except ValueError:
            threshold = -1.0
        if not 0.0 <= threshold <= 1.0:
            raise SettingsError(f"{raw.flag} takes DATASET=number from 0 to 1, not {text!r}")
        by_dataset[name.strip()] = threshold
    return by_dataset


@dataclass(frozen=True)
class Shots:
    """Numbers of demonstrations in a prompt.

    Arguments:
        by_dataset: pairs of a dataset's name and its number.
        rest: the number of all other datasets; None for each dataset's own.
    """

    by_dataset: tuple[tuple[str, int], ...] = ()
    rest: int | None = None

    def of(self, dataset: str) -> int | None:
        """Return the number for a dataset, or None for the dataset's own."""
        return dict(self.by_dataset).get(dataset, self.rest)

    def __str__(self) -> str:
        """Return the numbers as the option's text: `wikitq=1,5`."""
        named = [f"{name}={number}" for name, number in self.by_dataset]
        return ",".join([*named, *([] if self.rest is None else [str(self.rest)])])


def shots(raw: RawOption) -> Shots | int:
    """Parse `5`, `wikitq=1` or `wikitq=1,5`; a number for all datasets is returned as an int."""
    by_dataset: dict[str, int] = {}
    rest: list[int] = []
    for item in split_names(str(raw.value)):
        name, equals, text = map(str.strip, item.rpartition("="))
        if not text.isascii() or not text.isdigit() or bool(equals) != bool(name):
            raise _refused(raw)
        if not equals:
            rest.append(int(text))
        elif name in by_dataset:
            raise SettingsError(f"{raw.flag} names {name} twice: give it once")
        else:
            by_dataset[name] = int(text)
    if len(rest) > 1 or not (by_dataset or rest):
        raise _refused(raw)
    if not by_dataset:
        return rest[0]
    return Shots(tuple(by_dataset.items()), rest[0] if rest else None)


def _refused(raw: RawOption) -> SettingsError:
    return SettingsError(
        f"{raw.flag} takes a whole number from 0, or numbers by dataset and one for the rest "
        f"(wikitq=1,5), not {str(raw.value)!r}"
    )
