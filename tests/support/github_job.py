"""GitHub as far as the model gate needs it: an API on loopback, and a runner of one action."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

__all__ = [
    "ACTION",
    "FORK",
    "REPOSITORY",
    "ROOT",
    "TOKEN",
    "GitHub",
    "Job",
    "needs_action",
    "run_action",
]

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / ".github" / "actions" / "model-gate" / "action.yml"
REPOSITORY = "team/product"
TOKEN = "ghs-marked-31c7e0"
OWN, FORK = 1, 2
"""Numbers of the repository and of a fork of it."""

needs_action = pytest.mark.skipif(not ACTION.exists(), reason="no checkout: .github is not there")


@dataclass
class GitHub:
    """Repositories' artifacts and runs, and the API that tells of them."""

    folder: Path
    url: str = ""
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    conclusions: dict[int, str | None] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    refuse: int | None = None

    def add(
        self,
        name: str,
        content: Path | None = None,
        *,
        branch: str = "main",
        head: int = OWN,
        expired: bool = False,
        conclusion: str | None = "success",
        repository: str = REPOSITORY,
    ) -> dict[str, Any]:
        """Add an artifact of a new run; return what the API says of it."""
        number = len(self.artifacts) + 1
        if content is not None:
            shutil.copytree(content, self.folder / str(number))
        run = 1000 + number
        self.conclusions[run] = conclusion
        made_by = {"id": run, "repository_id": OWN, "head_repository_id": head}
        artifact = {
            "id": number,
            "name": name,
            "expired": expired,
            "workflow_run": made_by | {"head_branch": branch},
            "repository": repository,
        }
        self.artifacts.insert(0, artifact)
        return artifact

    def answer(self, address: str) -> Any:
        """Return what the API says, None for what there is not."""
        parts = urlsplit(address)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        found = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", parts.path)
        if found is None:
            return None
        repository, rest = found[1], found[2] or ""
        if not rest:
            return {"default_branch": "main"}
        if run := re.fullmatch(r"/actions/runs/(\d+)", rest):
            return {"conclusion": self.conclusions[int(run[1])]}
        if rest == "/actions/artifacts":
            size, page = int(query["per_page"]), int(query["page"])
            named = [
                artifact
                for artifact in self.artifacts
                if (artifact["name"], artifact["repository"]) == (query["name"], repository)
            ]
            return {"artifacts": named[(page - 1) * size : page * size]}
        return None

    @contextmanager
    def serve(self) -> Iterator[GitHub]:
        """Answer on a free port of this machine while the block runs."""
        world = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                world.asked.append((self.path, self.headers.get("Authorization")))
                answer = None if world.refuse else world.answer(self.path)
                body = json.dumps(answer or {}).encode()
                self.send_response(world.refuse or (200 if answer is not None else 404))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join(10)


@dataclass(frozen=True)
class Job:
    """What came of a job with the action in it."""

    exit_code: int
    """Of the first step that failed, else 0."""
    log: str
    outputs: dict[str, str]
    summary: str
    uploads: dict[str, Path]
    """Artifacts by name; only of folders that are there."""
    temp: Path


def run_action(
    github: GitHub,
    folder: Path,
    workspace: Path,
    *,
    environment: Mapping[str, str] | None = None,
    steps: int | None = None,
    beside: Mapping[str, Path] | None = None,
    **inputs: str,
) -> Job:
    """Run the steps of action.yml as a runner does, but for its installation.

    Arguments:
        github: the API and the artifacts to download.
        folder: an empty one for what the runner keeps.
        workspace: the checkout of the calling repository.
        environment: of the job, beside what it needs.
        steps: only so many steps that run something.
        beside: artifacts by name that other jobs of the same run have left.
        inputs: the action's, `_` for `-`.
    """
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    assert given.keys() <= action["inputs"].keys(), given.keys() - action["inputs"].keys()
    values = {name: str(item.get("default", "")) for name, item in action["inputs"].items()}
    values |= {"github-token": TOKEN} | given
    runner = _Runner(github, folder, workspace, values, dict(environment or {}))
    runner.beside = beside or {}
    for step in action["runs"]["steps"]:
        if steps is None or runner.ran < steps:
            runner.step(step)
    outputs = {name: runner.text(item["value"]) for name, item in action["outputs"].items()}
    summary = folder / "summary.md"
    return Job(
        runner.failed, runner.log, outputs, summary.read_text("utf-8"), runner.uploads, runner.temp
    )


class _Runner:
    """The state of a job."""

    def __init__(
        self,
        github: GitHub,
        folder: Path,
        workspace: Path,
        inputs: dict[str, str],
        environment: dict[str, str],
    ) -> None:
        self.github, self.folder, self.workspace, self.inputs = github, folder, workspace, inputs
        self.temp = folder / "temp"
        self.temp.mkdir(parents=True)
        (folder / "summary.md").touch()
        self.environment = environment
        self.beside: Mapping[str, Path] = {}
        self.outputs: dict[str, dict[str, str]] = {}
        self.failed = 0
        self.ran = 0
        self.log = ""
        self.uploads: dict[str, Path] = {}

    def step(self, step: Mapping[str, Any]) -> None:
        """Run one step, unless its condition or an earlier failure says no."""
        condition = str(step.get("if", "success()"))
        if (self.failed and "always()" not in condition) or not self.holds(condition):
            return
        uses = str(step.get("uses", "")).partition("@")[0]
        with_ = {name: self.text(value) for name, value in step.get("with", {}).items()}
        if step.get("id") == "install":
            self.outputs["install"] = {"python": sys.executable}
        elif "run" in step:
            self.run(step)
        elif uses == "actions/download-artifact" and "pattern" in with_:
            for name in fnmatch.filter(self.beside, with_["pattern"]):
                shutil.copytree(self.beside[name], Path(with_["path"]) / name)
        elif uses == "actions/download-artifact":
            source = self.github.folder / with_["artifact-ids"]
            shutil.copytree(source, with_["path"], dirs_exist_ok=True)
        elif uses == "actions/upload-artifact":
            path = Path(with_["path"])
            if path.is_dir() and any(path.iterdir()):
                self.uploads[with_["name"]] = path
        else:
            assert uses == "actions/setup-python", uses

    def run(self, step: Mapping[str, Any]) -> None:
        """Run a script in bash, as GitHub does."""
        self.ran += 1
        outputs = self.folder / f"outputs-{self.ran}"
        outputs.touch()
        environment = {
            name: value
            for name, value in os.environ.items()
            if name == "PYTEST_ADDOPTS"
            or (
                not name.startswith(("PYTEST_", "TABLEBENCH_", "GITHUB_", "LITELLM_", "COV_"))
                and not name.upper().endswith(("_PROXY", "_API_KEY", "_TOKEN", "_API_BASE"))
            )
        }
        python = Path(sys.executable).parent
        environment |= {
            "PATH": os.pathsep.join((str(python), environment.get("PATH", ""))),
            "GITHUB_ACTION_PATH": str(ACTION.parent),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_ENV": str(self.folder / "env"),
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_WORKSPACE": str(self.workspace),
            "PYTHONDONTWRITEBYTECODE": "1",
            "RUNNER_TEMP": str(self.temp),
        }
        environment |= self.environment
        environment |= {name: self.text(value) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=240,
            check=False,
        )
        self.log += done.stdout.decode("utf-8", "replace")
        self.failed = self.failed or done.returncode
        lines = outputs.read_text(encoding="utf-8").splitlines()
        self.outputs[str(step["id"])] = dict(line.split("=", 1) for line in lines)

    def text(self, value: object) -> str:
        """Return a text with its expressions put in."""
        return re.sub(r"\$\{\{(.*?)\}\}", lambda match: self.value(match[1]), str(value))

    def value(self, expression: str) -> str:
        """Return an expression of names, texts and `||`."""
        for part in expression.split("||"):
            name = part.strip()
            found = name[1:-1] if name.startswith("'") else self.lookup(name)
            if found:
                return found
        return ""

    def lookup(self, name: str) -> str:
        """Return the value of a name."""
        match name.split("."):
            case ["inputs", key]:
                return self.inputs[key]
            case ["steps", step, "outputs", key]:
                return self.outputs.get(step, {}).get(key, "")
            case ["github", "repository"]:
                return REPOSITORY
        raise AssertionError(f"not known here: {name}")

    def holds(self, condition: str) -> bool:
        """Whether a condition of `&&` and `!=` holds."""
        for part in condition.split("&&"):
            left, different, right = part.partition("!=")
            if different and self.value(left) == self.value(right):
                return False
            assert different or left.strip() in {"always()", "success()"}, condition
        return True
