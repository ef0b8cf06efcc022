"""Which folders of the data folder are datasets, and what `tablebench.toml` says of each."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_tablebench.config.parameters import RESERVED
from pytest_tablebench.datasets.files import PULL_RECORD, inside
from pytest_tablebench.datasets.folder._dataset import FolderDataset, FolderProblem, FolderSettings
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.names import known_names, printable

SETTINGS_FILE = "tablebench.toml"
QUESTION_FILES = ("questions.csv", "questions.jsonl", "questions.xlsx")

TABLE_FILES = (".csv", ".tsv", ".xlsx", ".xlsm", ".parquet", ".html", ".htm")

_MOST_BYTES = 100_000
_MOST_KEY_PARTS = 8
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*',
    re.DOTALL,
)
# A key begins where no word does: looking from each letter of a long one takes a square of time.
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_MOST_KEY_PARTS}}}[\w-]")
_TEXTS = ("name", "benchmark", "licence")
_DEFAULTS: Mapping[str, tuple[type, ...]] = {
    "shots": (int,),
    "limit": (int,),
    "threshold": (int, float),
    "instruction": (str,),
    "strategy": (str, list),
    "modality": (str, list),
    "params": (dict,),
    "serializers": (list,),
    "perturbations": (list,),
}
_KINDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list of texts",
    dict: "names and values: { max_tokens = 200 }",
}


def folder_datasets(data: Path, taken: Collection[str] = ()) -> Iterator[FolderDataset]:
    """Yield the datasets of a data folder: `data` itself, if it is one, and folders in it.

    A folder that says something wrong of itself is a dataset too, which tells so when it is
    opened. `taken` are names that other datasets have.
    """
    used = set(taken)
    for place in _places(data):
        dataset = open_folder(data, place)
        if dataset.name in used:
            number = 2
            while f"{dataset.name}_{number}" in used:
                number += 1
            dataset = FolderDataset(
                f"{dataset.name}_{number}",
                place,
                dataset.question_file,
                problem=FolderProblem(
                    SETTINGS_FILE,
                    f"the name {dataset.name!r} is taken; "
                    'give the folder another one: name = "..."',
                ),
            )
        used.add(dataset.name)
        yield dataset


def open_folder(data: Path, place: str) -> FolderDataset:
    """Return the dataset in the folder `place` of `data`; "." is `data` itself."""
    folder = data / place
    folder_name = folder.resolve().name if place == "." else place
    files = [name for name in QUESTION_FILES if (folder / name).is_file()]
    first = files[0] if files else QUESTION_FILES[0]
    try:
        settings = _settings(folder)
        if not files:
            raise DataError(f"no questions: it needs one of {', '.join(QUESTION_FILES)}")
        if len(files) > 1:
            raise DataError(f"{' and '.join(files)}: which are the questions? Keep one of them")
    except DataError as error:
        file, message = _split(str(error))
        return FolderDataset(_name(folder_name), place, first, problem=FolderProblem(file, message))
    return FolderDataset(_name(settings.name or folder_name), place, first, settings)


def _split(message: str) -> tuple[str, str]:
    """Return the file that a message begins with, "" for none, and the rest of the message."""
    prefix = f"{SETTINGS_FILE}: "
    is_of_settings = message.startswith(prefix)
    return (SETTINGS_FILE, message.removeprefix(prefix)) if is_of_settings else ("", message)


def _places(data: Path) -> list[str]:
    try:
        below = sorted(entry.name for entry in data.iterdir() if not entry.name.startswith("."))
    except OSError:  # there is no data folder
        return []
    return [place for place in [".", *below] if _is_dataset(data / place)]


def has_tables_alone(folder: Path) -> bool:
    """Return whether a folder has tables, but no questions and no folders beside them."""
    try:
        entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    except OSError:
        return False
    is_table = any(entry.is_file() and entry.suffix.lower() in TABLE_FILES for entry in entries)
    return is_table and not any(entry.is_dir() for entry in entries) and not _is_dataset(folder)


def _is_dataset(folder: Path) -> bool:
    """Whether someone wrote a dataset here; what was pulled has its own reader."""
    try:
        if (folder / PULL_RECORD).exists():
            return False
        return any((folder / name).is_file() for name in (SETTINGS_FILE, *QUESTION_FILES))
    except OSError:  # nobody may look into it
        return False


def _name(text: str) -> str:
    """Return a name that options, gates and case ids can hold."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")[:40] or "own"


def _settings(folder: Path) -> FolderSettings:
    """Read the folder's settings file. Raises `DataError` for what it cannot say."""
    if not (folder / SETTINGS_FILE).is_file():
        return FolderSettings()
    try:
        if (folder / SETTINGS_FILE).stat().st_size > _MOST_BYTES:
            raise DataError(f"{SETTINGS_FILE}: larger than {_MOST_BYTES:,} bytes")
        text = inside(folder, SETTINGS_FILE).read_text(encoding="utf-8-sig")
        _check_depth(text)
        content = tomllib.loads(text)
    except RecursionError:
        raise DataError(
            f"{SETTINGS_FILE}: brackets inside each other, too deep to be read"
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{SETTINGS_FILE}: {printable(str(error), 200)}") from None
    keys = dict(content)
    defaults = keys.pop("defaults", {})
    if not isinstance(defaults, dict):
        raise DataError(f"{SETTINGS_FILE}: defaults must be a section: [defaults]")
    include_hidden = keys.pop("include_hidden", False)
    if not isinstance(include_hidden, bool):
        raise DataError(f"{SETTINGS_FILE}: include_hidden must be true or false")
    for key, value in keys.items():
        _require_known(key, (*_TEXTS, "include_hidden", "defaults"))
        if not isinstance(value, str) or not value.strip():
            raise DataError(f"{SETTINGS_FILE}: {key} must be a text")
    for key, value in defaults.items():
        _require_known(key, _DEFAULTS)
        _check_default(key, value)
    lists: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in defaults.items()
    }
    return FolderSettings(**keys, **lists, include_hidden=include_hidden)


def _check_depth(text: str) -> None:
    """Raise `DataError` for a key of many parts: the parser takes a time that grows as a square."""
    bare = _STRING.sub("s", text)
    if _LONG_KEY.search(bare):
        raise DataError(
            f"{SETTINGS_FILE}: a key of more than {_MOST_KEY_PARTS} parts with dots between them"
        )


def _require_known(key: str, valid: Collection[str]) -> None:
    if key not in valid:
        shown = printable(key, 60)
        raise DataError(f"{SETTINGS_FILE}: unknown key {shown!r}; {known_names(key, valid)}")


def _check_default(key: str, value: Any) -> None:
    kinds = _DEFAULTS[key]
    fits = isinstance(value, kinds) and not isinstance(value, bool)
    if isinstance(value, list):
        fits = fits and bool(value) and all(isinstance(item, str) for item in value)
    elif isinstance(value, dict):
        for name in sorted(RESERVED & value.keys()):
            raise DataError(f"{SETTINGS_FILE}: params cannot set {name}, which has an option")
    elif key == "threshold":
        fits = fits and 0 <= value <= 1
    elif fits and isinstance(value, int):
        fits = value >= (1 if key == "limit" else 0)
    if not fits:
        kind = "a number from 0 to 1" if key == "threshold" else _KINDS[kinds[0]]
        raise DataError(f"{SETTINGS_FILE}: {key} must be {kind}")
