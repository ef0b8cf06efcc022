"""The import of litellm: seconds long, so on the first call and not before."""

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

# Read by litellm when it is imported: no download of price tables, no log lines of its own.
ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOG": "CRITICAL",
}

READ_ONLY = r"Items? .+ on TypedDict class '\w+' (is|are) using the `ReadOnly` qualifier"


def load() -> Any:
    """Import litellm, which costs seconds, on the first call and not before."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # What a model refuses is found out and reported before the run, not dropped in silence.
    os.environ.pop("LITELLM_DROP_PARAMS", None)
    if "litellm" not in sys.modules:
        # Said by pydantic about types of litellm, some of them not before a first call. It would
        # stand in the middle of a run's output, or break the call where warnings are errors.
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
    # attribute is its only switch (no environment variable, no argument), and its own Router
    # sets it likewise: https://github.com/BerriAI/litellm/issues/5942
    litellm.suppress_debug_info = True
    return litellm


@contextmanager
def uncollected(module: str) -> Iterator[None]:
    """Import a large module without the garbage collector, which would visit it many times.

    What was loaded stays as it is, so it is taken out of the collector's sight for good. This
    saves a third of the time of litellm's import, and its share of every later collection.
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
