"""Run the steps of one job on this machine; see `workflow_runner.py`."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.github_world import REPOSITORY, ROOT, GitHub
from tests.support.job_expressions import as_text, condition, filled

_STEP = {"id", "name", "if", "uses", "with", "env", "run", "shell"}
_WITH = {
    "actions/checkout": {"persist-credentials"},
    "actions/setup-python": {"python-version"},
    "actions/download-artifact": {
        *("artifact-ids", "run-id", "repository", "github-token", "path", "pattern", "name")
    },
    "actions/upload-artifact": {
        *("name", "path", "if-no-files-found", "overwrite", "retention-days")
    },
}


class Known(dict[str, Any]):
    """A context in which missing names are empty, as GitHub's outputs and secrets are."""

    def __init__(self, values: Mapping[str, Any], empty: Any) -> None:
        super().__init__(values)
        self.empty = empty

    def __missing__(self, key: str) -> Any:
        return self.empty


@dataclass(frozen=True)
class Job:
    """The result of a job."""

    result: str
    """success, failure or skipped."""
    exit_code: int = 0
    """Of the first failed step, else 0."""
    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    uploads: dict[str, Path] = field(default_factory=dict)
    """Artifacts by name; only of folders that exist."""
    temp: Path = Path()


class Runner:
    """A machine that runs one job."""

    def __init__(
        self,
        github: GitHub,
        folder: Path,
        checkout: Path,
        workspace: Path,
        environment: Mapping[str, str],
    ) -> None:
        self.github, self.folder = github, folder
        self.checkout, self.workspace = checkout, workspace
        self.temp = folder / "temp"
        self.temp.mkdir(parents=True)
        workspace.mkdir(exist_ok=True)
        (folder / "summary.md").touch()
        self.environment = environment
        self.event: tuple[str, dict[str, Any]] = ("push", {})
        self.artifacts: dict[str, Path] = {}
        """The run's artifacts by name, shared by its jobs."""
        self.uploads: dict[str, Path] = {}
        self.installs = False
        self.limit: int | None = None
        self.failed = self.ran = 0
        self.log = ""

    def job(self, outputs: dict[str, str]) -> Job:
        """Return the result so far."""
        summary = (self.folder / "summary.md").read_text("utf-8")
        result = "failure" if self.failed else "success"
        return Job(result, self.failed, self.log, outputs, summary, self.uploads, self.temp)

    def steps(self, steps: Sequence[Mapping[str, Any]], scope: Mapping[str, Any]) -> dict[str, Any]:
        """Run steps in order; return the context with their outputs."""
        step_results = {step["id"]: {"outputs": Known({}, "")} for step in steps if "id" in step}
        for step in steps:
            assert step.keys() <= _STEP, f"not known here: {step.keys() - _STEP}"
            state = {"success": not self.failed, "failure": bool(self.failed)}
            step_scope = {
                **scope,
                **state,
                "steps": step_results,
                "always": True,
                "cancelled": False,
            }
            if not condition(step.get("if"), step_scope) or self.ran == self.limit:
                continue
            env = {
                key: as_text(filled(text, step_scope)) for key, text in step.get("env", {}).items()
            }
            step_scope["env"] = {**scope["env"], **env}
            outputs = (
                self.used(step, step_scope) if "uses" in step else self.script(step, step_scope)
            )
            if "id" in step:
                step_results[step["id"]]["outputs"].update(outputs)
        return {"steps": step_results}

    def used(self, step: Mapping[str, Any], scope: Mapping[str, Any]) -> Mapping[str, str]:
        """Simulate an action; return its outputs."""
        inputs = {key: as_text(filled(text, scope)) for key, text in step.get("with", {}).items()}
        name = str(step["uses"]).partition("@")[0]
        if name not in _WITH:
            return self.composite(ROOT / own_path(name) / "action.yml", inputs, scope)
        assert inputs.keys() <= _WITH[name], f"{name}: {inputs.keys() - _WITH[name]}"
        if name == "actions/checkout":
            shutil.copytree(self.checkout, self.workspace, dirs_exist_ok=True)
        elif name == "actions/download-artifact":
            self.download(inputs)
        elif name == "actions/upload-artifact":
            self.upload(inputs)
        return {}

    def composite(
        self, path: Path, step_inputs: Mapping[str, str], scope: Mapping[str, Any]
    ) -> dict[str, str]:
        """Run a composite action of this repository; return its outputs."""
        action = read_yaml(path)
        declared = action["inputs"]
        assert step_inputs.keys() <= declared.keys(), step_inputs.keys() - declared.keys()
        required = {key for key, item in declared.items() if item.get("required")}
        assert required <= step_inputs.keys(), (
            f"{path.parent.name}: {required - step_inputs.keys()}"
        )
        facts = {
            "github": {**scope["github"], "action_path": str(path.parent)},
            "runner": {"temp": str(self.temp)},
        }
        inputs = {
            key: step_inputs.get(key, as_text(filled(item.get("default", ""), facts)))
            for key, item in declared.items()
        }
        inner = {**facts, "env": scope["env"], "inputs": inputs}
        step_results = self.steps(action["runs"]["steps"], inner)
        return {
            key: as_text(filled(item["value"], inner | step_results))
            for key, item in action.get("outputs", {}).items()
        }

    def download(self, inputs: Mapping[str, str]) -> None:
        """Download artifacts of another run by its number, or of this run."""
        target = self.workspace / inputs.get("path", ".")
        if "artifact-ids" in inputs:
            assert self.github.tokens[inputs["github-token"]].get("actions"), "actions: read"
            source = self.github.folder / inputs["artifact-ids"]
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif "pattern" in inputs:
            for name in fnmatch.filter(self.artifacts, inputs["pattern"]):
                shutil.copytree(self.artifacts[name], target / name)
        elif inputs["name"] in self.artifacts:
            shutil.copytree(self.artifacts[inputs["name"]], target, dirs_exist_ok=True)
        else:
            self.failed = self.failed or 1
            self.log += f"Unable to download artifact: {inputs['name']}\n"

    def upload(self, inputs: Mapping[str, str]) -> None:
        """Keep a folder as an artifact of the run."""
        source = self.workspace / inputs["path"]
        if source.is_dir() and any(source.iterdir()):
            copy = self.folder / "uploads" / inputs["name"]
            shutil.copytree(source, copy)
            self.uploads[inputs["name"]] = self.artifacts[inputs["name"]] = copy
        else:
            assert inputs["if-no-files-found"] == "ignore", inputs

    def script(self, step: Mapping[str, Any], scope: Mapping[str, Any]) -> dict[str, str]:
        """Run a script in bash; return its outputs."""
        if step.get("id") == "install" and not self.installs:
            return {"python": sys.executable}
        assert step.get("shell", "bash") == "bash", step["shell"]
        self.ran += 1
        outputs = self.folder / f"outputs-{self.ran}"
        outputs.touch()
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace,
            env=self.variables(outputs, scope),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=240,
            check=False,
        )
        self.log += done.stdout.decode("utf-8", "replace")
        self.failed = self.failed or done.returncode
        lines = outputs.read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    def variables(self, outputs: Path, scope: Mapping[str, Any]) -> dict[str, str]:
        """Return the environment of a script: the machine's, GitHub's, and the step's variables."""
        machine = {
            name: value
            for name, value in os.environ.items()
            if name == "PYTEST_ADDOPTS"
            or (
                not name.startswith(("PYTEST_", "TABLEBENCH_", "GITHUB_", "LITELLM_", "COV_"))
                and not name.upper().endswith(("_PROXY", "_API_KEY", "_TOKEN", "_API_BASE"))
            )
        }
        event = self.folder / "event.json"
        event.write_text(json.dumps(self.event[1]), encoding="utf-8")
        python = Path(sys.executable).parent
        github = {
            "ACTION_PATH": scope["github"].get("action_path", ""),
            "API_URL": self.github.url,
            "ENV": str(self.folder / "env"),
            "EVENT_NAME": self.event[0],
            "EVENT_PATH": str(event),
            "OUTPUT": str(outputs),
            "REPOSITORY": REPOSITORY,
            "RUN_ID": "4711",
            "SERVER_URL": "https://github.example",
            "SHA": "0123456789abcdef0123456789abcdef01234567",
            "STEP_SUMMARY": str(self.folder / "summary.md"),
            "WORKSPACE": str(self.workspace),
        }
        return {
            **machine,
            "PATH": os.pathsep.join((str(python), machine.get("PATH", ""))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "RUNNER_TEMP": str(self.temp),
            **{f"GITHUB_{name}": value for name, value in github.items()},
            **self.environment,
            **scope["env"],
        }


def own_path(uses: str) -> str:
    """Return the path in this repository that `uses` names."""
    owner, separator, path = uses.partition("/.github/")
    assert separator, f"not known here: {uses}"
    assert re.fullmatch(r"\$|[\w.-]+/pytest-tablebench", owner), f"not known here: {uses}"
    return f".github/{path.partition('@')[0]}"


def read_yaml(path: Path) -> dict[Any, Any]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict), path
    return content
