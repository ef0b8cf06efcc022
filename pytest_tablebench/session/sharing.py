"""The settings that a run determines itself, the same in all its processes."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.reading import NEW_NAME
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import SettingsError

if TYPE_CHECKING:
    import pytest

SHARED = "tablebench_shared"
"""Key of a worker's input: the values from `shared_values`."""


def with_shared(settings: Settings, config: pytest.Config) -> Settings:
    """Return the settings with the name of the run's new answers, if it needs one.

    A worker takes the name from its controller. A run folder that waits for batches has the name
    already. Raises `SettingsError` if the name could not be used again.
    """
    sent: Mapping[str, Any] | None = getattr(config, "workerinput", {}).get(SHARED)
    if sent is not None:
        return replace(settings, **sent)
    if settings.fresh != NEW_NAME:
        return settings
    _check_new_name(settings)
    return replace(settings, fresh=_kept_name(settings, config) or _new_name())


def shared_values(settings: Settings) -> dict[str, Any]:
    """Return the values that a controller sends to its workers."""
    return {"fresh": settings.fresh}


def _check_new_name(settings: Settings) -> None:
    why = None
    if settings.replay:
        why = "--bench-replay uses stored answers only, and no answer has a new name"
    elif settings.shard is not None:
        why = "all shards of a run need the same name"
    elif settings.executor == "batch" and settings.results is None:
        why = "a run by batches is continued under its name, which its folder keeps"
    if why is not None:
        folder = " or --bench-results=DIR" if settings.executor == "batch" else ""
        raise SettingsError(f"--bench-fresh without a name: {why}; add =NAME{folder}")


def _kept_name(settings: Settings, config: pytest.Config) -> str | None:
    """Return the name in the run folder that `--bench-results` names; None without a run."""
    if settings.results is None:
        return None
    from pytest_tablebench.results import read_run_json
    from pytest_tablebench.session.kept_run import run_paths

    paths = run_paths(settings, config.invocation_params.dir, datetime.now(UTC)).values()
    for path in paths:
        try:
            name = read_run_json(path).get("fresh")
        except SettingsError:  # no run, or none that can be continued
            continue
        if isinstance(name, str):
            return name
    return None


def _new_name() -> str:
    return f"run-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
