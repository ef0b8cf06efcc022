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


READS = """
import json, sys
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
log = read_eval_log(sys.argv[1])
samples = [(one.id, one.epoch, {k: v.value for k, v in one.scores.items()},
            one.error and one.error.message, one.output.completion,
            [message.role for message in one.messages]) for one in log.samples]
print(json.dumps({"status": log.status, "task": log.eval.task, "samples": samples,
                  "metrics": {k: v.value for k, v in log.results.scores[0].metrics.items()},
                  "summaries": len(read_eval_log_sample_summaries(sys.argv[1]))}))
"""


def test_inspect_opens_an_exported_log(tmp_path: Path) -> None:
    python = interpreter(VARIABLE, ["inspect_ai"], EXTRA)
    run = write_full_run(tmp_path / "run")
    assert main(["export", str(run), "--to", "inspect", "--out", str(tmp_path)]) == 0
    [log] = tmp_path.glob("*_toy_*.eval")
    command = [python, "-c", READS, str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["status"], found["task"], found["summaries"]) == ("success", "toy", 5)
    assert found["metrics"]["no_answer"] == 0.2
    samples = {(name, epoch): rest for name, epoch, *rest in found["samples"]}
    assert samples["a/html/none/direct", 1] == [{}, "timeout", "", ["user"]]
    assert samples["a/csv/none/direct", 1][:3] == [{"exact_match": 1.0}, None, "Hexley"]
    assert samples["b/csv/none/pot", 1][3][1:4] == ["assistant", "assistant", "tool"]
