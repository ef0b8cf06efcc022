"""The workflow that watches a model, on a simulated GitHub, with a real git remote."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.github_world import ROOT, GitHub, needs_runner
from tests.support.github_world import github as github
from tests.support.workflow_runner import Event, WorkflowRun, run_workflow

EXAMPLE = ROOT / "docs" / "example-repository"

pytestmark = [
    *needs_runner,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def reply(folder: Path, *, right: bool) -> None:
    """Let the model answer all questions right, or all wrong."""
    with (EXAMPLE / "tables/shop/questions.csv").open(encoding="utf-8", newline="") as stream:
        rows = [
            {
                "match": f"Question: {row['question']}",
                "text": row["answer"].replace(" | ", ", ") if right else "no idea",
            }
            for row in csv.DictReader(stream)
        ]
    script = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "replies.jsonl").write_text(script, encoding="utf-8")


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """The example repository with a remote, and a model that answers from a script."""
    folder = tmp_path / "product"
    shutil.copytree(EXAMPLE, folder)
    workflow = folder / ".github/workflows/watch.yml"
    content = workflow.read_text(encoding="utf-8")
    assert content.count("openai/gpt-4o-mini") == 1
    content = content.replace("openai/gpt-4o-mini", "tablebench/scripted:replies.jsonl")
    workflow.write_text(content.replace("--repeats 10", "--repeats 5"), encoding="utf-8")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "all")
    git(tmp_path, "clone", "--quiet", "--bare", str(folder), "remote.git")
    git(folder, "remote", "add", "origin", str(tmp_path / "remote.git"))
    return folder


def test_a_drift_opens_one_issue_which_later_looks_update(
    github: GitHub, product: Path, tmp_path: Path
) -> None:
    def look(name: str) -> WorkflowRun:
        workflow = product / ".github/workflows/watch.yml"
        return run_workflow(github, workflow, tmp_path / name, product, Event())

    reply(product, right=True)
    for name in ("reference", "first"):
        run = look(name)
        assert run.result == "success", run.log
        assert run.jobs["look"].outputs == {"code": "0"}
    assert github.issues == []

    reply(product, right=False)
    for name in ("second", "third"):
        run = look(name)
        assert run.result == "success", run.log
        assert run.jobs["look"].outputs == {"code": "10"}, run.log
    [issue] = github.issues
    assert issue["state"] == "open"
    assert issue["body"].startswith("<!-- tablebench watch: shop -->\n")
    assert "the model has drifted" in issue["body"]
    assert "| 3 |" in issue["body"]
    assert (run.artifacts["tablebench-watch"] / "watch.html").exists()

    lines = git(tmp_path / "remote.git", "show", "tablebench-watch:watch.jsonl").splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["reference", "look", "look", "look"]
    commits = git(tmp_path / "remote.git", "log", "--format=%s", "tablebench-watch").splitlines()
    assert commits == ["One look"] * 4
