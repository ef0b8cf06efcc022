"""How the value of an option is read and checked: one function for each kind of value.

A reader takes what the command line or an ini file gives, and returns the value that `Settings`
holds. It raises `SettingsError` naming the option, its value, and what it takes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
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
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import printable, split_names, unknown_name

__all__ = [
    "EFFORTS",
    "Given",
    "Reader",
    "address",
    "choice",
    "compat",
    "effort",
    "existing_folder",
    "folder",
    "known_names",
    "limit",
    "names",
    "number",
    "one_name",
    "params",
    "shard",
    "store",
    "stores",
    "switch",
    "switch_off",
    "texts",
    "thresholds",
]

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""litellm's words for how hard a model thinks."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True)
class Given:
    """A value as it was given.

    Arguments:
        flag: the option, as it is written on a command line.
        value: a text, a list of texts, or what a configuration file of types holds.
        base: the folder that relative paths start from.
    """

    flag: str
    value: Any
    base: Path


Reader = Callable[[Given], Any]


def texts(given: Given) -> tuple[str, ...]:
    """Return the different texts of an option that can be given several times."""
    values = [given.value] if isinstance(given.value, str) else list(given.value)
    cleaned = [str(text).strip() for text in values]
    if not all(cleaned):
        raise SettingsError(f"{given.flag} needs a name, not an empty text")
    return tuple(dict.fromkeys(cleaned))


def names(given: Given) -> tuple[str, ...]:
    """Return the different names of texts with commas."""
    found = [name for text in texts(given) for name in split_names(text)]
    if not found:
        raise SettingsError(f"{given.flag} names nothing; write names separated by commas")
    return tuple(dict.fromkeys(found))


def one_name(what: str) -> Reader:
    """Return a reader of a single name; `what` says whose."""

    def read(given: Given) -> str:
        name = str(given.value).strip()
        if not name:
            raise SettingsError(f"{given.flag} needs {what}, not an empty text")
        return name

    return read


def known_names(kind: str, known: Sequence[str]) -> Reader:
    """Return a reader of names that are among the known ones."""

    def read(given: Given) -> tuple[str, ...]:
        found = names(given)
        for name in found:
            if name not in known:
                raise SettingsError(f"{given.flag}: {unknown_name(kind, name, known)}")
        return found

    return read


def number(
    kind: type[int] | type[float],
    low: float,
    what: str,
    *,
    high: float = math.inf,
) -> Reader:
    """Return a reader of numbers from `low` to `high`; `what` says in words which they are."""

    def read(given: Given) -> int | float:
        try:
            value = kind(str(given.value))
            # Infinity is none, NaN is not within anything.
            if not low <= value <= high or abs(value) == math.inf:
                raise ValueError
        except ValueError:
            shown = printable(str(given.value), 40)
            raise SettingsError(f"{given.flag} takes {what}, not {shown!r}") from None
        return value

    return read


def generation(given: Given) -> str:
    """Read the name of a generation of answers; `today` is the day on which this is read."""
    text = str(given.value).strip()
    if text == "today":
        return date.today().isoformat()
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", text) is None:
        raise SettingsError(
            f"{given.flag} takes a name of up to 40 letters, digits, dots, dashes and "
            f"underscores, not {printable(text, 50)!r}"
        )
    return text


def limit(given: Given) -> int | Literal["all"]:
    """Return a number of examples, or `all`."""
    if str(given.value).strip() == "all":
        return "all"
    found: int = number(int, 1, "all or a whole number from 1")(given)
    return found


def shard(given: Given) -> str:
    """Return a part of the cases as `number/count`."""
    found = re.fullmatch(r"\s*0*([1-9][0-9]{0,5})/0*([1-9][0-9]{0,5})\s*", str(given.value))
    if found is None or int(found[1]) > int(found[2]):
        shown = printable(str(given.value), 40)
        raise SettingsError(f"{given.flag} takes I/N, part I of N, from 1/N to N/N, not {shown!r}")
    return f"{found[1]}/{found[2]}"


def folder(given: Given) -> Path:
    """Return a folder, which need not be there."""
    # A shell leaves the ~ of --bench-data=~/tables alone.
    return given.base / Path(str(given.value)).expanduser()


def stores(given: Given) -> tuple[Path | str, ...]:
    """Return several folders of answers; one that is shared by its address."""
    return tuple(_store(given, text) for text in texts(given))


def store(given: Given) -> Path | str | None:
    """Return where answers are kept, a shared store by its address; None where they are not."""
    return None if given.value == "none" else _store(given, str(given.value))


def _store(given: Given, text: str) -> Path | str:
    if not is_shared(text):
        return given.base / Path(text).expanduser()
    fault = shared_fault(text)
    if fault is not None:
        raise SettingsError(f"{given.flag} {printable(without_credentials(text))}: {fault}")
    return text.rstrip("/")


def existing_folder(given: Given) -> Path:
    """Return the folder of the datasets, which has to be there."""
    found = folder(given)
    if not found.is_dir():
        raise SettingsError(
            f"{given.flag}: {printable(str(found))} is no folder; give the folder that holds one "
            f"folder per dataset"
        )
    return found


def switch(given: Given) -> bool:
    """Read an option without a value; as an ini key it is yes or no."""
    if isinstance(given.value, bool):
        return given.value
    text = str(given.value).strip().lower()
    if text in {"true", "yes", "on", "1"}:
        return True
    if text in {"false", "no", "off", "0"}:
        return False
    key = given.flag.lstrip("-").replace("-", "_")
    raise SettingsError(f"{key} is true or false, not {printable(str(given.value), 40)!r}")


def switch_off(given: Given) -> bool:
    """Read an option that takes something away."""
    return not switch(given)


def choice(*known: str) -> Reader:
    """Return a reader of one of some words."""

    def read(given: Given) -> str:
        if (text := str(given.value)) not in known:
            raise SettingsError(f"{given.flag}: {unknown_name('mode', text, known)}")
        return text

    return read


def effort(given: Given) -> str:
    """Return how hard models think. Raises `SettingsError` for several words at once."""
    if len(texts(given)) > 1 or "," in str(given.value):
        raise SettingsError(
            f"{given.flag} takes one effort: run once for each, and compare the runs with "
            "`tablebench compare RUN RUN`"
        )
    return str(choice(*EFFORTS)(given))


def compat(given: Given) -> Compat:
    """Return the mode of metrics and prompts."""
    try:
        return check_compat(str(given.value))
    except SettingsError as error:
        raise SettingsError(f"{given.flag}: {error}") from None


def address(given: Given) -> str:
    """Return the address of a server. What is wrong is said without the password in it."""
    url = str(given.value)
    fault = address_fault(url)
    if fault is not None:
        raise SettingsError(f"{given.flag} {fault}")
    return url


def params(given: Given) -> dict[str, Any]:
    """Return parameters of model calls, by name; their values as JSON, or as text."""
    from pytest_tablebench.config.parameters import RESERVED
    from pytest_tablebench.config.secrets import BY_PLACE, secret_name

    found: dict[str, Any] = {}
    for text in texts(given):
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise SettingsError(f"{given.flag} takes key=value, not {printable(name, 40)!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
        if name in BY_PLACE:
            _check_placed(f"{given.flag} {name}", name, found[name])
            continue
        secret = secret_name(name, found[name])
        if secret is not None:
            # Parameters are written into the run folder; keys must never be.
            inside = "" if secret == name else f": {printable(secret, 40)}"
            raise SettingsError(
                f"{given.flag} {printable(name, 40)}{inside}: keys are never taken here; "
                f"set the provider's environment variable (OPENAI_API_KEY, ...)"
            )
        if name in RESERVED:
            raise SettingsError(f"{given.flag} {name}: is set by the run itself")
    return found


def _check_placed(flag: str, name: str, value: object) -> None:
    """Raise `SettingsError` for headers or a query that cannot be sent; shows no value."""
    if not isinstance(value, Mapping) or not value:
        raise SettingsError(f'{flag} takes an object of JSON, as in {name}={{"Name": "value"}}')
    for key, content in value.items():
        if name == "extra_headers":
            fault = "no text" if not isinstance(content, str) else header_fault(content)
            fault = fault or (None if _HEADER_NAME.fullmatch(key) else "a name that is none")
            if fault is not None:
                raise SettingsError(
                    f"{flag}: {printable(key, 40)} has {fault}, which HTTP cannot send"
                )


def thresholds(given: Given) -> dict[str, float]:
    """Return the threshold of each dataset that is named."""
    found = {}
    for text in texts(given):
        name, _, value = text.partition("=")
        try:
            threshold = float(value)
        except ValueError:
            threshold = -1.0
        if not 0.0 <= threshold <= 1.0:
            raise SettingsError(
                f"{given.flag} takes DATASET=number from 0 to 1, not {printable(text, 60)!r}"
            )
        found[name.strip()] = threshold
    return found
