"""The prompts that papers print, read from the user's folder: one text file per prompt.

The package does not contain these texts. A dataset's `worded` determines where it uses them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pytest_tablebench.config.reading import RawOption, folder
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import unknown_name

_LONGEST = 100_000  # characters of a prompt
_KINDS = (
    "fact_checking",
    "structure_comprehending",
    "numerical_reasoning",
    "rudimentary_analysis",
    "predictive_analysis",
    "exploratory_analysis",
    "summary_analysis",
    "anomaly_analysis",
    "visualization",
)
_BOTH = frozenset({"table", "question"})

PLACEHOLDERS: Mapping[str, frozenset[str] | None] = MappingProxyType(
    {
        **dict.fromkeys(_KINDS, _BOTH),
        "treethinker_tree": frozenset({"table"}),
        **dict.fromkeys((f"treethinker_{kind}" for kind in _KINDS), frozenset({"question"})),
        **dict.fromkeys(("tcot", "pot", "icot", "table_summary"), None),
    }
)
"""The placeholders of each prompt by its name; None if its braces have no meaning."""

_PLACEHOLDER = re.compile(r"\{\{([a-z_]{1,40})\}\}|\{([a-z_]{1,40})\}")


@dataclass(frozen=True)
class PrintedPrompts:
    """The prompts of a folder, by name.

    Arguments:
        folder: the folder of the files.
        texts: the prompts.
    """

    folder: Path
    texts: Mapping[str, str]

    def __str__(self) -> str:
        """Return the digest of all texts, and their names, for `run.json`."""
        texts = json.dumps(sorted(self.texts.items())).encode()
        return f"{hashlib.sha256(texts).hexdigest()[:16]} ({', '.join(sorted(self.texts))})"


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a prompt with its placeholders filled; doubled braces become single."""

    def value(match: re.Match[str]) -> str:
        return f"{{{match[1]}}}" if match[1] else values[match[2]]

    return _PLACEHOLDER.sub(value, text)


def placeholders_in(text: str) -> set[str]:
    """Return the names of the placeholders in a prompt."""
    return {match[2] for match in _PLACEHOLDER.finditer(text) if match[2]}


def printed_prompts(raw: RawOption) -> PrintedPrompts:
    """Read the folder of `--bench-prompts`. Raises `SettingsError` that names the wrong file."""
    where = folder(raw)
    shown = f"{raw.flag} {where}"
    if not where.is_dir():
        raise SettingsError(f"{shown} is not a folder")
    texts = {}
    for path in sorted(where.glob("*.txt")):
        if path.stem not in PLACEHOLDERS:
            raise SettingsError(f"{shown}: {unknown_name('prompt', path.stem, PLACEHOLDERS)}")
        fault, text = _read(path)
        if fault is not None:
            raise SettingsError(f"{shown}: {path.name} {fault}")
        texts[path.stem] = text
    if not texts:
        raise SettingsError(f"{shown} contains no prompt; add a file such as fact_checking.txt")
    return PrintedPrompts(where, MappingProxyType(texts))


def _read(path: Path) -> tuple[str | None, str]:
    """Return the fault of a file, or None, and its text."""
    try:
        if path.stat().st_size > 4 * _LONGEST:
            return f"has more than {_LONGEST:,} characters", ""
        text = path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        return f"cannot be read: {reason}", ""
    return _fault(path.stem, text), text


def _fault(name: str, text: str) -> str | None:
    if not text:
        return "is empty"
    if len(text) > _LONGEST:
        return f"has more than {_LONGEST:,} characters"
    placeholders = PLACEHOLDERS[name]
    if placeholders is None:
        return None
    named = placeholders_in(text)
    listed = " and ".join(f"{{{name}}}" for name in sorted(placeholders))
    for other in sorted(named - placeholders):
        return (
            f"has the placeholder {{{other}}}; it may have {listed}, and other words in braces "
            f"are written {{{{{other}}}}}"
        )
    if named and named != placeholders:
        return f"has a part of {listed}: it needs all of them or none"
    return None
