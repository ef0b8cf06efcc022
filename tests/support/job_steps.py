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
from tests.support.job_expressions import Known, as_text, condition, filled


@dataclass
class Run:
    """The parts of a run that its jobs share."""

    github: GitHub
    folder: Path
    checkout: Path
    environment: Mapping[str, str]
    event_name: str = "push"
    payload: dict[str, Any] = field(default_factory=dict)
    installs: bool = False
    artifacts: dict[str, Path] = field(default_factory=dict)
    """By name; only of folders that exist."""


class Job:
    """A machine that runs one job, and the results of the job."""

    def __init__(self, run: Run, folder: Path, workspace: Path, *, skipped: bool = False) -> None:
        self.run, self.folder, self.workspace, self.skipped = run, folder, workspace, skipped
        self.temp = folder / "temp"
        self.temp.mkdir(parents=True)
        workspace.mkdir(exist_ok=True)
        (folder / "summary.md").touch()
        self.outputs: dict[str, str] = {}
        self.uploads: dict[str, Path] = {}
        self.limit: int | None = None
        self.ran = 0
        self.exit_code = 0
        """The exit code of the first failed step, else 0."""
        self.log = ""

    @property
    def result(self) -> str:
        return "skipped" if self.skipped else "failure" if self.exit_code else "success"

    @property
    def summary(self) -> str:
        return (self.folder / "summary.md").read_text("utf-8")

    def steps(self, steps: Sequence[Mapping[str, Any]], scope: Mapping[str, Any]) -> dict[str, Any]:
        """Run steps in order; return the context with their outputs."""
        results = {step["id"]: {"outputs": Known()} for step in steps if "id" in step}
        for step in steps:
            keys = {"id", "name", "if", "uses", "with", "env", "run", "shell"}
            assert step.keys() <= keys, f"not known here: {step.keys() - keys}"
            inner = {**scope, "steps": results}
            success = not self.exit_code
            if not condition(step.get("if"), inner, success=success) or self.ran == self.limit:
                continue
            inner["env"] = {**scope["env"], **_texts(step.get("env", {}), inner)}
            outputs = self.used(step, inner) if "uses" in step else self.script(step, inner)
            if "id" in step:
                results[step["id"]]["outputs"].update(outputs)
        return {"steps": results}

    def used(self, step: Mapping[str, Any], scope: Mapping[str, Any]) -> Mapping[str, str]:
        """Simulate an action; return its outputs."""
        inputs = _texts(step.get("with", {}), scope)
        name = str(step["uses"]).partition("@")[0]
        if name == "actions/checkout":
            shutil.copytree(self.run.checkout, self.workspace, dirs_exist_ok=True)
        elif name == "actions/download-artifact":
            self.download(inputs)
        elif name == "actions/upload-artifact":
            self.upload(inputs)
        elif name != "actions/setup-python":
            return self.composite(ROOT / own_path(name) / "action.yml", inputs, scope)
        return {}

    def composite(
        self, path: Path, step_inputs: Mapping[str, str], scope: Mapping[str, Any]
    ) -> dict[str, str]:
        """Run a composite action of this repository; return its outputs."""
        action = read_yaml(path)
        facts = {
            "github": {**scope["github"], "action_path": str(path.parent)},
            "runner": {"temp": str(self.temp)},
        }
        inputs = _texts(inputs_of(action["inputs"], step_inputs), facts)
        inner = {**facts, "env": scope["env"], "inputs": inputs}
        inner |= self.steps(action["runs"]["steps"], inner)
        return _texts(
            {key: item["value"] for key, item in action.get("outputs", {}).items()}, inner
        )

    def download(self, inputs: Mapping[str, str]) -> None:
        """Download artifacts of another run by its number, or of this run."""
        target = self.workspace / inputs["path"]
        if "artifact-ids" in inputs:
            github = self.run.github
            assert github.tokens[inputs["github-token"]].get("actions"), "actions: read"
            source = github.folder / inputs["artifact-ids"]
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif "name" in inputs:
            shutil.copytree(self.run.artifacts[inputs["name"]], target, dirs_exist_ok=True)
        else:
            for name in fnmatch.filter(self.run.artifacts, inputs["pattern"]):
                shutil.copytree(self.run.artifacts[name], target / name)

    def upload(self, inputs: Mapping[str, str]) -> None:
        """Keep a folder as an artifact of the run."""
        source = self.workspace / inputs["path"]
        if source.is_dir() and any(source.iterdir()):
            copy = self.folder / "uploads" / inputs["name"]
            shutil.copytree(source, copy)
            self.uploads[inputs["name"]] = self.run.artifacts[inputs["name"]] = copy
        else:
            assert inputs["if-no-files-found"] == "ignore", inputs

    def script(self, step: Mapping[str, Any], scope: Mapping[str, Any]) -> dict[str, str]:
        """Run a script in bash; return its outputs."""
        if step.get("id") == "install" and not self.run.installs:
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
        self.exit_code = self.exit_code or done.returncode
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
        event.write_text(json.dumps(self.run.payload), encoding="utf-8")
        python = Path(sys.executable).parent
        github = {
            "ACTION_PATH": scope["github"].get("action_path", ""),
            "API_URL": self.run.github.url,
            "ENV": str(self.folder / "env"),
            "EVENT_NAME": self.run.event_name,
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
            **self.run.environment,
            **scope["env"],
        }


def inputs_of(declared: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of an action or workflow, with defaults, after a check of their names."""
    required = {key for key, item in declared.items() if item.get("required")}
    assert required <= values.keys() <= declared.keys(), values.keys() ^ required
    return {key: values.get(key, item.get("default", "")) for key, item in declared.items()}


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


def _texts(values: Mapping[str, Any], scope: Mapping[str, Any]) -> dict[str, str]:
    return {key: as_text(filled(value, scope)) for key, value in values.items()}
