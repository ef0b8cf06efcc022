"""The settings and printed prompts of published benchmarks.

`--bench-setting` names a setting, `--bench-prompts` the folder of a paper's printed prompts.

A setting applies to the datasets of its benchmark. Other options take precedence over it; on the
command line, `--bench-setting` takes precedence over the settings file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pytest_tablebench.config.reading import RawOption, Shots, folder
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
    label = f"{raw.flag} {where}"
    if not where.is_dir():
        raise SettingsError(f"{label} is not a folder")
    texts = {}
    for path in sorted(where.glob("*.txt")):
        if path.stem not in PLACEHOLDERS:
            raise SettingsError(f"{label}: {unknown_name('prompt', path.stem, PLACEHOLDERS)}")
        fault, text = _read(path)
        if fault is not None:
            raise SettingsError(f"{label}: {path.name} {fault}")
        texts[path.stem] = text
    if not texts:
        raise SettingsError(f"{label} contains no prompt; add a file such as fact_checking.txt")
    return PrintedPrompts(where, texts)


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
    listing = " and ".join(f"{{{name}}}" for name in sorted(placeholders))
    for other in sorted(named - placeholders):
        return (
            f"has the placeholder {{{other}}}; it may have {listing}, and other words in braces "
            f"are written {{{{{other}}}}}"
        )
    if named and named != placeholders:
        return f"has a part of {listing}: it needs all of them or none"
    return None


FLAG = "--bench-setting"


@dataclass(frozen=True, kw_only=True)
class PaperSetting:
    """A paper's values for its benchmark; None leaves a value to the dataset.

    The fields up to `params` have the names and types of `Settings`.

    Arguments:
        benchmark: the name of the benchmark.
        source: where the paper states the values.
        params: parameters of each request to the model under test; `--bench-param` overrides
            them. A parameter with the value None is not sent.
        cuts_prompts: whether prompts are cut to the model's context.
    """

    benchmark: str
    source: str
    serializers: tuple[str, ...] | None = None
    perturbations: tuple[str, ...] | None = None
    strategies: tuple[str, ...] | None = None
    modalities: tuple[str, ...] | None = None
    shots: Shots | None = None
    limit: int | Literal["all"] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    cuts_prompts: bool = False


OVERRIDES = ("serializers", "perturbations", "strategies", "modalities", "shots", "limit", "params")
"""The settings that a paper's setting can set."""

EXCLUDED = ("sample", "configs_per_example", "demos")
"""Settings that no paper uses: a paper's setting disables their values in the settings file."""

PAPER_SETTINGS: Mapping[str, PaperSetting] = {
    "torr": PaperSetting(
        benchmark="torr",
        source="arXiv 2502.19412, Table 2",
        serializers=("html", "csv", "json", "markdown", "indexed_row_major", "df", "concat"),
        perturbations=("none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows"),
        strategies=("direct",),
        modalities=("text",),
        shots=Shots((("wikitq", 1),), 5),
        limit=100,
        params={"temperature": 0, "max_tokens": 512},
    ),
    "realhitbench": PaperSetting(
        benchmark="realhitbench",
        source="arXiv 2506.13405",
        perturbations=("none",),
        shots=Shots((), 0),
        limit="all",
        params={"temperature": 0, "max_tokens": 4096},
    ),
    "treb": PaperSetting(
        benchmark="treb",
        source="TReB's published code",
        perturbations=("none",),
        shots=Shots((), 0),
        limit="all",
        # The published limit is the whole context. Servers allow that if they get no limit.
        params={
            "temperature": 0.2,
            "top_p": 0.9,
            "repetition_penalty": 1.1,
            "max_tokens": None,
        },
        cuts_prompts=True,
    ),
}


def paper_setting(raw: RawOption) -> str:
    """Return the name of a paper's setting."""
    if (text := str(raw.value).strip()) not in PAPER_SETTINGS:
        raise SettingsError(f"{raw.flag}: {unknown_name('setting', text, PAPER_SETTINGS)}")
    return text
