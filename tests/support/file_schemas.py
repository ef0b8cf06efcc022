"""Checks a file by the schema of its reader, in this process: a process each takes two seconds."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner


def check_schema(path: Path, schema: str) -> None:
    """Fail if a file does not follow a built-in schema of check-jsonschema."""
    reason = "check-jsonschema is not installed"
    command = pytest.importorskip("check_jsonschema", reason=reason).main
    done = CliRunner().invoke(command, ["--builtin-schema", schema, str(path)])
    assert done.exit_code == 0, done.output
