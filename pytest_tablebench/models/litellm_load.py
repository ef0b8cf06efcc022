"""The import of litellm, which takes seconds and happens on the first call."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import ModelError

# Read by litellm at import: no download of price tables, no log lines.
ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOG": "CRITICAL",
}

READ_ONLY = r"Items? .+ on TypedDict class '\w+' (is|are) using the `ReadOnly` qualifier"


def load() -> Any:
    """Import litellm, which takes seconds the first time."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # Refused parameters are reported before the run, not silently dropped.
    os.environ.pop("LITELLM_DROP_PARAMS", None)
    if "litellm" not in sys.modules:
        # pydantic warns about litellm's types, sometimes only at the first call. The warning
        # would interrupt the run's output, or fail the call if warnings are errors.
        warnings.filterwarnings("ignore", READ_ONLY, UserWarning)
    try:
        with uncollected("litellm"):
            import litellm
    except Exception as error:  # a broken installation fails in many ways
        raise ModelError(
            f"litellm cannot be imported ({redact(f'{type(error).__name__}: {error}')}); "
            "install it with: pip install litellm",
            reason="litellm_missing",
            whole_run=True,
        ) from None
    # litellm prints "Give Feedback / Get Help" on standard output for every error; this module
    # attribute is the only switch: https://github.com/BerriAI/litellm/issues/5942
    litellm.suppress_debug_info = True
    return litellm


@contextmanager
def uncollected(module: str) -> Iterator[None]:
    """Import a large module without garbage collection, then freeze its objects.

    This saves a third of the time of litellm's import, and the visits of its objects in every
    later collection.
    """
    if module in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
