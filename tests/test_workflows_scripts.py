"""The scripts of the gate for other repositories behave as docs/ci.md says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.github_world import ACTION, FORK, ROOT, TOKEN, GitHub, needs_runner
from tests.support.github_world import github as github
from tests.support.job_steps import Job
from tests.support.matrix import reduced
from tests.support.openai_server import OpenAIServer
from tests.support.runs import KEY, MODEL, SUITE, Script
from tests.support.scripts import load_script
from tests.support.workflow_runner import run_action

pytestmark = needs_runner
LEXICAL: dict[str, Any] = {
    "model": "tablebench/lexical",
    "datasets": "starter",
    "tests": "test_tables.py",
    "arguments": (
        "--bench-limit=20\n--bench-serializer=csv\n--bench-perturbation=none,transpose\n"
        "--bench-no-page\n-pno:cacheprovider"
    ),
}


# The scripts in a job of another repository


def write_checkout(folder: Path) -> Path:
    """Write the checkout of another repository."""
    folder.mkdir()
    folder.joinpath("pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    folder.joinpath("test_tables.py").write_text(SUITE, encoding="utf-8")
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_checkout(tmp_path / "product")


@pytest.fixture(scope="module")
def holding(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Return a job whose gates hold, and whose run prints a workflow command and variables."""
    folder = tmp_path_factory.mktemp("holding")
    workspace = write_checkout(folder / "product")
    workspace.joinpath("conftest.py").write_text(
        "import os, sys\n"
        "seen = sorted(n for n in os.environ if n.startswith(('GITHUB_', 'GATE_', 'ACTIONS_')))\n"
        "sys.__stdout__.write('::add-mask::a\\nseen ' + ' '.join(seen) + '\\n')\n"
        "sys.__stdout__.flush()\n",
        encoding="utf-8",
    )
    (folder / "artifacts").mkdir()
    with GitHub(folder / "artifacts").serve() as world:
        # The built-in model matches words. It is right in some 35 to 55 % of these cases.
        return run_action(
            world,
            folder / "job",
            workspace,
            environment={"ACTIONS_RUNTIME_TOKEN": "x"},
            **LEXICAL | {"arguments": LEXICAL["arguments"] + "\n-s"},
            gates="starter.performance >= 0.05\n# a comment\nall.no_answer <= 0",
        )


def messages(job: Job, level: str) -> list[str]:
    return re.findall(rf"^::{level} title=tablebench::(.*)$", job.log, re.MULTILINE)


def test_a_run_whose_gates_hold_is_the_baseline_of_the_next(
    holding: Job, github: GitHub, workspace: Path, tmp_path: Path
) -> None:
    assert holding.exit_code == 0, holding.log
    assert holding.outputs["verdict"] == "holds"
    assert holding.outputs["pytest-exit-code"] == "0"
    assert messages(holding, "notice")[-1] == "every gate holds (2)"
    summary = re.sub(r"&#(\d+);", lambda m: chr(int(m[1])), holding.summary)
    assert "starter.performance" in summary
    assert set(holding.uploads) == {"tablebench-run"}, "a built-in model's answers cost nothing"
    assert (holding.uploads["tablebench-run"] / "records.jsonl").exists()
    github.add("tablebench-run", holding.uploads["tablebench-run"])
    compared = run_action(
        github,
        tmp_path / "compared",
        workspace,
        **LEXICAL,
        gates="starter.performance >= baseline - 0.2",  # 20 equal examples: at most 0.168 worse
        baseline_artifact="tablebench-run",
    )
    assert compared.exit_code == 0, compared.log
    assert compared.outputs["verdict"] == "holds"


@pytest.mark.parametrize("undecided", reduced(["fail", "pass"], "pass"))
def test_the_caller_decides_whether_an_undecided_gate_fails(
    github: GitHub, workspace: Path, tmp_path: Path, undecided: str
) -> None:
    # The bound is the share of right answers, so it is inside the interval.
    gates = "starter.performance >= 0.35"
    job = run_action(
        github, tmp_path / "job", workspace, **LEXICAL, gates=gates, undecided=undecided
    )
    assert job.exit_code == (11 if undecided == "fail" else 0), job.log
    assert job.outputs["verdict"] == "undecided"
    assert job.outputs["pytest-exit-code"] == "11"
    assert len(messages(job, "error" if undecided == "fail" else "warning")) == 1


@pytest.mark.parametrize("undecided", reduced(["fail", "pass"], "pass"))
def test_a_gate_without_data_gives_no_verdict(
    github: GitHub, workspace: Path, tmp_path: Path, undecided: str
) -> None:
    # A dataset that was not run, and a fork's replay without stored answers.
    gate = "wikitq.performance >= 0.5"
    held = "starter.performance >= 0.05"
    inputs = LEXICAL | {"gates": f"{held}\n{gate}", "undecided": undecided}
    elsewhere = run_action(github, tmp_path / "elsewhere", workspace, **inputs)
    inputs |= {"model": "openai/test-model", "gates": held, "replay": "always"}
    unanswered = run_action(github, tmp_path / "unanswered", workspace, **inputs)
    for job, code in ((elsewhere, "4"), (unanswered, "11")):
        assert job.exit_code == 1, job.log
        assert job.outputs["verdict"] == "error"
        assert job.outputs["pytest-exit-code"] == code
    [message] = messages(elsewhere, "error")
    assert message == "no verdict: pytest ended with 4; the log above says why"
    assert f"ERROR: --bench-gate '{gate}': " in elsewhere.log
    assert held in messages(unanswered, "error")[0]


def test_a_replay_answers_only_from_the_artifact(
    github: GitHub, workspace: Path, tmp_path: Path
) -> None:
    inputs = LEXICAL | {
        "model": MODEL,
        "gates": "starter.performance >= 0.5\nall.no_answer <= 0",
        "api_key_name": "OPENAI_API_KEY",
        "arguments": (
            "--bench-limit=20\n--bench-serializer=csv\n--bench-perturbation=none\n"
            "--bench-shots=0\n--bench-no-page\n-pno:cacheprovider\n-ptests.support.plain_model"
        ),
        "environment": {"PYTHONPATH": str(ROOT)},
    }
    with OpenAIServer(Script(20)) as server:
        inputs["api_base"] = server.url
        own = run_action(github, tmp_path / "own", workspace, **inputs, api_key=KEY)
        assert own.exit_code == 0, own.log
        paid = len(server.requests)
        assert paid == 20
        github.add("tablebench-answers", own.uploads["tablebench-answers"])
        wider = inputs | {"arguments": inputs["arguments"].replace("limit=20", "limit=21")}
        wider |= {"api_key": KEY, "replay": "always"}
        more = run_action(github, tmp_path / "more", workspace, **wider)
        assert len(server.requests) == paid, "a replay makes no call"
        assert more.exit_code == 10, "a case that is not stored has no answer, so a gate fails"
        assert more.outputs["verdict"] == "fails"
        assert len(messages(more, "error")) == 1
        assert "tablebench-run" in more.uploads
        again = run_action(github, tmp_path / "again", workspace, **inputs, api_key=KEY)
        assert len(server.requests) == paid, "stored answers are not paid for again"
    assert any("no call is made" in text for text in messages(more, "notice"))
    assert again.exit_code == 0, again.log
    first, second = (
        sorted(path.read_bytes() for path in job.uploads["tablebench-answers"].iterdir())
        for job in (own, again)
    )
    assert set(first) <= set(second), "the next artifact contains the old answers too"
    for path in tmp_path.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert KEY.encode() not in content, path
            assert TOKEN.encode() not in content, path
    assert KEY not in own.log


def test_a_run_without_gates_gives_no_verdict(
    github: GitHub, workspace: Path, tmp_path: Path
) -> None:
    # Without gates wrong answers have pytest's exit code 1.
    ungated = run_action(github, tmp_path / "ungated", workspace, **LEXICAL)
    assert ungated.exit_code == 1
    assert ungated.outputs["verdict"] == "error"
    assert "no gate was judged" in messages(ungated, "error")[0]


def test_output_of_the_run_is_no_workflow_command(holding: Job) -> None:
    token = re.search(r"^::stop-commands::([0-9a-f]{32})$", holding.log, re.MULTILINE)
    assert token
    shut = holding.log[token.end() : holding.log.index(f"\n::{token[1]}::")]
    assert "::add-mask::a" in shut
    assert "::add-mask::a" not in holding.log.replace(shut, "")


def test_the_run_cannot_change_later_steps(holding: Job) -> None:
    seen = re.search(r"^seen (.*)$", holding.log, re.MULTILINE)
    assert seen
    names = set(seen[1].split())
    assert "GITHUB_STEP_SUMMARY" in names
    assert not names & {"GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "ACTIONS_RUNTIME_TOKEN"}
    assert not [name for name in names if name.startswith("GATE_")]


HOSTILE = "x\"'; touch pwned; $(touch pwned) `touch pwned` && touch pwned"


def test_inputs_are_never_shell(github: GitHub, workspace: Path, tmp_path: Path) -> None:
    inputs = ["api_base", "baseline", "branch", "budget", "connections", "datasets", "tests"]
    for name in reduced(inputs, "branch", "budget", "tests"):
        hostile = LEXICAL | {"gates": "starter.performance >= 0.05", name: HOSTILE}
        # Only the first step reads the branch.
        steps = 1 if name == "branch" else None
        job = run_action(github, tmp_path / name, workspace, steps=steps, **hostile)
        assert job.exit_code == (0 if name == "branch" else 1), (name, job.log)
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"name": "../elsewhere"}, "name:"),
        ({"name": ""}, "name:"),
        ({"model": " "}, "model:"),
        ({"gates": "# none", "tests": ""}, "gates:"),
        ({"undecided": "maybe"}, "undecided: fail or pass"),
        ({"replay": "perhaps"}, "replay: auto or always or never"),
        ({"api_key_name": "LD_PRELOAD"}, "api-key-name:"),
        ({"api_key_name": "GITHUB_TOKEN"}, "api-key-name:"),
        ({"datasets": "starter\n--co"}, "datasets: one line"),
        ({"baseline": "a", "baseline_artifact": "b"}, "baseline and baseline-artifact:"),
        ({"baseline_artifact": "b", "baseline_repository": "a/b/../c"}, "baseline-repository:"),
        ({"baseline_artifact": "nowhere"}, "baseline-artifact:"),
    ],
)
def test_a_wrong_input_is_named_before_anything_is_installed(
    github: GitHub, workspace: Path, tmp_path: Path, inputs: dict[str, str], message: str
) -> None:
    wrong = LEXICAL | {"gates": "starter.performance >= 0.05"} | inputs
    job = run_action(github, tmp_path / "job", workspace, **wrong)
    assert job.exit_code == 1
    assert messages(job, "error")[0].startswith(message)
    assert not job.uploads
    assert job.outputs["verdict"] == "error"


# Trusted artifacts


def chosen(github: GitHub, workspace: Path, folder: Path, **inputs: str) -> Job:
    """Run the first step only."""
    first_step = LEXICAL | {"gates": "starter.performance >= 0.05"} | inputs
    return run_action(github, folder, workspace, steps=1, **first_step)


def outputs(job: Job) -> dict[str, str]:
    text = (job.temp.parent / "outputs-1").read_text(encoding="utf-8")
    return dict(line.split("=", 1) for line in text.splitlines())


def test_only_artifacts_of_the_trusted_branch_are_used(
    github: GitHub, workspace: Path, tmp_path: Path
) -> None:
    content = tmp_path / "content"
    content.mkdir()
    github.add("tablebench-answers", content)
    trusted = github.add("tablebench-answers", content)
    github.add("tablebench-answers", content, branch="feature")
    github.add("tablebench-answers", content, head=FORK)
    github.add("tablebench-answers", content, expired=True)
    github.add("tablebench-answers-2", content)
    for _ in range(150):  # a busy pull request fills more than the first page
        github.add("tablebench-answers", branch="feature")
    job = chosen(github, workspace, tmp_path / "job")
    first = outputs(job)
    assert (first["answers-id"], first["answers-run"]) == (
        str(trusted["id"]),
        str(trusted["workflow_run"]["id"]),
    )
    assert "baseline-id" not in first
    assert {authorization for _, authorization in github.asked} == {f"Bearer {TOKEN}"}
    assert max(path.count("page=2") for path, _ in github.asked) == 1

    other = chosen(github, workspace, tmp_path / "other", branch="release")
    assert outputs(other)["answers-id"] == ""
    assert any("nothing to reuse" in text for text in messages(other, "notice"))


def test_a_baseline_is_from_a_successful_run(
    github: GitHub, workspace: Path, tmp_path: Path
) -> None:
    content = tmp_path / "content"
    content.mkdir()
    successful = github.add("best-run", content, repository="team/models")
    github.add("best-run", content, conclusion="failure", repository="team/models")
    github.add("best-run", content, conclusion=None, repository="team/models")
    github.add("best-run", content, head=FORK, repository="team/models")
    github.add("best-run", content)
    job = chosen(
        github,
        workspace,
        tmp_path / "job",
        baseline_artifact="best-run",
        baseline_repository="team/models",
    )
    assert outputs(job)["baseline-id"] == str(successful["id"])


def test_a_refused_token_is_explained(github: GitHub, workspace: Path, tmp_path: Path) -> None:
    github.refuse = 403
    job = chosen(github, workspace, tmp_path / "job")
    assert job.exit_code == 1
    assert "permissions: actions: read" in messages(job, "error")[0]


# The installation


def gate_module(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script of the action."""
    monkeypatch.syspath_prepend(str(ACTION.parent))
    return load_script(ACTION.parent / f"{name}.py", f"model_gate_{name}")


def test_the_package_is_the_commit_of_the_action_or_the_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = gate_module("gate", monkeypatch)
    assert gate.packages({}) == ["--constraint", str(ROOT / "constraints.txt"), str(ROOT)]
    assert gate.packages({"GATE_PACKAGE": "pytest-tablebench==0.2.0\n\npandas<4\n"}) == [
        "pytest-tablebench==0.2.0",
        "pandas<4",
    ]
    with pytest.raises(Exception, match="no options of pip"):
        gate.packages({"GATE_PACKAGE": "--no-deps"})
