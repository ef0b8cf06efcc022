"""The gate for other repositories on a simulated GitHub: docs/example-repository, and in parts."""

from __future__ import annotations

import csv
import re
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.support.github_world import REPOSITORY, ROOT, GitHub, needs_runner
from tests.support.github_world import github as github
from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.runs import KEY, SUITE
from tests.support.workflow_runner import Event, run_action, run_workflow

EXAMPLE = ROOT / "docs" / "example-repository"

pytestmark = needs_runner


def right(body: dict[str, Any]) -> Behaviour:
    """Reply with the answer in the question file of the example."""
    with (EXAMPLE / "tables/shop/questions.csv").open(encoding="utf-8", newline="") as stream:
        answers = {row["question"]: row["answer"] for row in csv.DictReader(stream)}
    asked = re.findall(r"Question: (.*)", body["messages"][-1]["content"])[-1]
    return text(answers[asked].replace(" | ", ", "))


def test_the_example_repository_measures_main_replays_forks_and_comments_once(
    github: GitHub, tmp_path: Path
) -> None:
    product = tmp_path / "product"
    shutil.copytree(EXAMPLE, product)
    workflow = product / ".github/workflows/tables.yml"
    # Without network: the dependencies are those of this environment.
    machine = {
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    secrets = {"OPENAI_API_KEY": KEY}
    with OpenAIServer(right) as server:
        machine["OPENAI_BASE_URL"] = server.url
        main = run_workflow(
            github, workflow, tmp_path / "main", product, Event(),
            secrets=secrets, environment=machine, installs=True,
        )  # fmt: skip
        assert main.result == "success", main.log
        assert {name: job.result for name, job in main.jobs.items()} == {
            "gate/parts": "success",
            "gate/gate[1]": "success",
            "gate/merge": "skipped",
            "comment": "skipped",
        }
        assert main.jobs["gate/gate[1]"].outputs == {"verdict": "holds"}
        assert "All 3 gates hold" in main.jobs["gate/gate[1]"].summary
        assert set(main.artifacts) == {"tablebench-run", "tablebench-answers"}
        paid = len(server.requests)
        assert paid == 40 * 2 * 2

        fork = run_workflow(
            github, workflow, tmp_path / "fork", product, Event("patch", pull=7, fork=True),
            secrets=secrets, environment=machine,
        )  # fmt: skip
        assert fork.result == "success", fork.log
        assert "no call is made" in fork.log
        assert fork.jobs["comment"].result == "skipped"

        stranger = github.comment(8, "<!-- tablebench gate: tablebench -->\nmine", "somebody")
        pull = Event("feature", pull=8)
        options: dict[str, Any] = {"secrets": secrets, "environment": machine}
        first = run_workflow(github, workflow, tmp_path / "one", product, pull, **options)
        assert first.result == "success", first.log
        # Answers that main paid for are reused; one call checks who gives them now.
        assert len(server.requests) == paid + 1
        [_, comment] = github.comments[8]
        assert "All 3 gates hold" in comment["body"]
        assert f"https://github.example/{REPOSITORY}/actions/runs/" in comment["body"]

        config = product / "pyproject.toml"
        config.write_text(config.read_text("utf-8").replace("pass_rate >= 0.7", "pass_rate <= 0.2"))
        second = run_workflow(github, workflow, tmp_path / "two", product, pull, **options)
    assert second.jobs["gate/gate[1]"].exit_code == 10, second.log
    assert second.jobs["comment"].result == "success", second.log
    assert github.comments[8] == [stranger, comment], (
        "one comment is updated, and a stranger's is unchanged"
    )
    assert "1 of 3 gates fails" in comment["body"]
    assert stranger["body"].endswith("mine")
    assert list(github.comments) == [8], "the fork has no comment"
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]


PARTS = """
on: push
permissions: {contents: read, actions: read}
jobs:
  gate:
    uses: $/.github/workflows/model-gate.yml
    with:
      model: tablebench/lexical
      tests: test_tables.py
      shards: 2
      gates: |
        starter.performance >= 0.05
        all.no_answer <= 0
      arguments: |
        --bench-limit=20
        --bench-serializer=csv
        --bench-perturbation=none,transpose
        --bench-no-page
"""


def test_the_parts_of_a_matrix_are_merged_in_the_last_job(github: GitHub, tmp_path: Path) -> None:
    product = tmp_path / "product"
    product.mkdir()
    (product / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (product / "test_tables.py").write_text(SUITE, encoding="utf-8")
    workflow = tmp_path / "gate.yml"
    workflow.write_text(PARTS, encoding="utf-8")
    run = run_workflow(github, workflow, tmp_path / "run", product, Event())
    assert run.result == "success", run.log
    assert {name: job.outputs.get("verdict") for name, job in run.jobs.items()} == {
        "gate/parts": None,
        "gate/gate[1]": "part",
        "gate/gate[2]": "part",
        "gate/merge": "holds",
    }
    assert run.outputs == {"gate": {"verdict": "holds"}}
    assert "every gate holds (2)" in run.jobs["gate/merge"].log
    assert set(run.artifacts) == {
        *("tablebench-run", "tablebench-run-part-1", "tablebench-run-part-2")
    }
    records = [
        (run.artifacts[f"tablebench-run{part}"] / "records.jsonl").read_text("utf-8").count("\n")
        for part in ("", "-part-1", "-part-2")
    ]
    assert records[0] == records[1] + records[2] == 40
    assert records[1] > 0
    assert records[2] > 0
    # A run that lacks a part is undecided.
    half = run_action(
        github,
        tmp_path / "half",
        product,
        other_uploads={"tablebench-run-part-1": run.artifacts["tablebench-run-part-1"]},
        model="tablebench/lexical",
        tests="test_tables.py",
        gates="starter.performance >= 0.05",
        merge="true",
    )
    assert half.exit_code == 11, half.log
    assert half.outputs["verdict"] == "undecided"
    assert "incomplete: part 2 of 2 is missing" in half.log
    assert "::error title=tablebench::" in half.log
    # As on GitHub, a caller that grants less than the gate needs is refused before any job.
    workflow.write_text(PARTS.replace(", actions: read", ""), encoding="utf-8")
    with pytest.raises(AssertionError, match="does not grant"):
        run_workflow(github, workflow, tmp_path / "less", product, Event())
