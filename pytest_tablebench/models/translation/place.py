"""Where translations are kept. Imports nothing slow, because every run looks there first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

FOLDER = "translations"
"""The folder inside a store."""


def file_of(folder: Path, model: str, api_base: str | None, timeout: float) -> Path:
    """Return the file of a model's translation."""
    identity = json.dumps([model, api_base, float(timeout)])
    return folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}.json"


def are_kept(store: Path | None, models: Iterable[tuple[str, str | None]], timeout: float) -> bool:
    """Return whether there is a file for each model; whether it is valid, only its reader knows.

    Arguments:
        store: the folder of the store; None without one.
        models: names and addresses of models behind litellm.
        timeout: seconds of a call.
    """
    if store is None:
        return False
    return all(file_of(store / FOLDER, *model, timeout).exists() for model in models)
