"""The settings of published benchmarks: `--bench-setting` names one of them.

A setting applies to the datasets of its benchmark. Other options take precedence over it; on the
command line, `--bench-setting` takes precedence over the settings file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_tablebench.config.demonstrations import Shots
from pytest_tablebench.config.reading import RawOption
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import unknown_name

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
