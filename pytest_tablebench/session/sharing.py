"""The settings that a run determines itself, the same in all its processes."""

from __future__ import annotations

import contextlib
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

    from pytest_tablebench.results.run_facts import RunFacts

SHARED = "tablebench_shared"
"""Key of a worker's input: the values from `shared_values`."""


def with_shared(settings: Settings, config: pytest.Config) -> Settings:
    """Return the settings with the name of the run's new answers, and how old others may be.

    A worker takes both from its controller. A run folder that waits for batches has them already.
    Raises `SettingsError` if the name could not be used again.
    """
    sent: Mapping[str, Any] | None = getattr(config, "workerinput", {}).get(SHARED)
    if sent is not None:
        return replace(settings, **sent)
    if settings.fresh != NEW_NAME and settings.oldest is None:
        return settings
    if settings.fresh == NEW_NAME:
        _check_new_name(settings)
    kept = _kept_run(settings, config)
    if settings.fresh == NEW_NAME:
        settings = replace(settings, fresh=(kept and kept.fresh) or _new_name())
    if settings.oldest is not None and kept is not None and kept.oldest_answer is not None:
        settings = replace(settings, oldest=kept.oldest_answer)
    return settings


def shared_values(settings: Settings) -> dict[str, Any]:
    """Return the values that a controller sends to its workers."""
    return {"fresh": settings.fresh, "oldest": settings.oldest}


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


def _kept_run(settings: Settings, config: pytest.Config) -> RunFacts | None:
    """Return the facts of the run in the folder that `--bench-results` names; None without one."""
    if settings.results is None:
        return None
    from pytest_tablebench.results import read_facts
    from pytest_tablebench.session._kept_run import run_paths

    paths = run_paths(settings, config.invocation_params.dir, datetime.now(UTC))
    for path in paths.values():
        with contextlib.suppress(SettingsError):  # no run, or none that can be continued
            return read_facts(path)
    return None


def _new_name() -> str:
    return f"run-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
