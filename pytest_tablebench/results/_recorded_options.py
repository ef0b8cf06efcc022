"""What `run.json` says of options and versions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_tablebench.config.addresses import without_credentials
from pytest_tablebench.config.axes import SAME_QUESTION
from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.config.papers import PrintedPrompts
from pytest_tablebench.config.reading import Shots
from pytest_tablebench.config.secrets import without_secrets
from pytest_tablebench.config.settings import Settings


def option_entries(settings: Settings) -> dict[str, Any]:
    """Return the entries of `run.json` for the options, except the axes, which `grid` has."""
    entries = {
        option.recorded: _plain(getattr(settings, option.setting))
        for option in OPTIONS
        if option.recorded is not None and "." not in option.recorded
    }
    several = {axis.name: list(settings.names_on(axis)) for axis in SAME_QUESTION}
    margins = {
        name: getattr(settings, name, None) for name in (f"{axis}_margin" for axis in several)
    }
    return entries | {
        "params": without_secrets(settings.request_params()),
        **{
            axis: names if len(names) > 1 else next(iter(names), None)
            for axis, names in several.items()
        },
        "api_base": without_credentials(settings.api_base) if settings.api_base else None,
        "store": str(settings.store_place() or "none"),
        **{name: margin for name, margin in margins.items() if margin is not None},
        **({} if settings.prompts is None else {"prompts_folder": str(settings.prompts.folder)}),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Path | Shots | PrintedPrompts):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


@cache
def versions() -> dict[str, str | None]:
    names = ("pytest-tablebench", "pytest", "pytest-xdist", "litellm", "pandas", "spacy")
    versions: dict[str, str | None] = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return versions
