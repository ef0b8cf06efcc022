"""Names of models in litellm's table of prices, read without importing litellm."""

from __future__ import annotations

import json
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

_TABLE = "model_prices_and_context_window_backup.json"


def model_names() -> list[str]:
    """Return the names in the table of the installed litellm; empty without one."""
    spec = find_spec("litellm")
    if spec is None or spec.origin is None:
        return []
    try:
        table = json.loads((Path(spec.origin).parent / _TABLE).read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return sorted(name for name in table if name != "sample_spec")


def near_model(name: str) -> str | None:
    """Return the known name that is most similar to an unknown one; None without a similar one."""
    return next(iter(get_close_matches(name, model_names(), n=1, cutoff=0.7)), None)
