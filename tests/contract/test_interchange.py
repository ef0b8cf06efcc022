"""Exported runs, as the packages read them that the forms belong to."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from pytest_tablebench.cli import main
from tests.contract.servers import interpreter
from tests.support.exported_runs import write_full_run

VARIABLE, EXTRA = "TABLEBENCH_INTERCHANGE_PYTHON", "interchange"


def test_the_validator_of_every_eval_ever_passes_all_files(tmp_path: Path) -> None:
    python = interpreter(VARIABLE, ["every_eval_ever"], EXTRA)
    run = write_full_run(tmp_path / "run")
    assert main(["export", str(run), "--to", "every-eval-ever", "--out", str(tmp_path)]) == 0
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("data/*/*/*/*"))
    assert len(files) == 4
    command = [python, "-m", "every_eval_ever", "validate", "--format", "json", *files]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    reports = json.loads(done.stdout)
    assert [(one["errors"], one["warnings"]) for one in reports] == [([], [])] * 4
    assert done.returncode == 0
    assert sorted(one["line_count"] for one in reports) == [0, 0, 1, 5]
