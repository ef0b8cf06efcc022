"""Run workflows and actions as GitHub does, on this machine.

Supported are jobs in the order of their needs, a matrix, called workflows with their permissions,
and composite actions. Scripts run in bash, with the declared variables in a clean folder. GitHub's
own actions have doubles that work on folders. An unknown key, expression or action is an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.github_world import ACTION, FORK, OWN, REPOSITORY, ROOT, TOKEN, GitHub
from tests.support.job_expressions import condition, filled
from tests.support.job_steps import Job, Known, Runner, own_path, read_yaml

_IGNORED = {"name", "runs-on", "timeout-minutes", "concurrency"}
"""Keys of a job without effect here; their expressions must still be valid."""


@dataclass(frozen=True)
class Event:
    """The trigger of a workflow: a push to a branch, or to a pull request."""

    branch: str = "main"
    pull: int | None = None
    fork: bool = False

    @property
    def name(self) -> str:
        return "push" if self.pull is None else "pull_request"

    @property
    def payload(self) -> dict[str, Any]:
        """The used parts of the webhook's payload."""
        if self.pull is None:
            return {}
        home = "stranger/product" if self.fork else REPOSITORY
        return {"pull_request": {"number": self.pull, "head": {"repo": {"full_name": home}}}}


@dataclass
class WorkflowRun:
    """The result of a workflow."""

    jobs: dict[str, Job] = field(default_factory=dict)
    """By id; jobs of a called workflow as `caller/id`, jobs of a matrix as `id[1]`."""
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of the called workflows, by job."""
    artifacts: dict[str, Path] = field(default_factory=dict)

    @property
    def log(self) -> str:
        return "".join(f"[{name}]\n{job.log}" for name, job in self.jobs.items())

    @property
    def result(self) -> str:
        results = {job.result for job in self.jobs.values()}
        return "failure" if "failure" in results else "success"


def run_workflow(
    github: GitHub,
    path: Path,
    folder: Path,
    checkout: Path,
    event: Event,
    *,
    secrets: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    installs: bool = False,
) -> WorkflowRun:
    """Run a workflow of a repository, and store its artifacts in the simulated GitHub.

    Arguments:
        github: the API, and the artifacts of earlier runs.
        path: the workflow's file.
        folder: an empty one for the runners' files.
        checkout: the repository at this commit.
        event: the trigger.
        secrets: the repository's; a fork's pull request has none.
        environment: additional variables of the machines.
        installs: whether the gate installs its package; otherwise it uses this environment.
    """
    run = WorkflowRun()
    secret_values = Known({} if event.fork else dict(secrets or {}), "")
    call = _Call(github, folder, checkout, event, dict(environment or {}), installs, run)
    call.workflow(read_yaml(path), {}, secret_values, None, "")
    for name, content in run.artifacts.items():
        head = FORK if event.fork else OWN
        github.add(name, content, branch=event.branch, head=head, conclusion=run.result)
    return run


@dataclass
class _Call:
    """One run of a workflow, with the state that its jobs share."""

    github: GitHub
    folder: Path
    checkout: Path
    event: Event
    environment: dict[str, str]
    installs: bool
    run: WorkflowRun

    def workflow(
        self,
        workflow: Mapping[Any, Any],
        inputs: Mapping[str, Any],
        secrets: Mapping[str, str],
        granted: Mapping[str, str] | None,
        prefix: str,
    ) -> dict[str, str]:
        """Run the jobs of a workflow; return its outputs.

        Arguments:
            workflow: its content.
            inputs: of a called workflow.
            secrets: the secrets that it may read.
            granted: the permissions that it must not exceed.
            prefix: of its jobs' names.
        """
        # YAML 1.1 reads the key `on` as true.
        keys = {"name", True, "permissions", "jobs", "concurrency", "env"}
        assert workflow.keys() <= keys, workflow.keys() - keys
        scope: dict[str, Any] = {
            "github": self.facts(),
            "inputs": dict(inputs),
            "secrets": secrets,
            "env": dict(workflow.get("env", {})),
        }
        done: dict[str, Any] = {}
        for name, job in workflow["jobs"].items():
            needs = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
            assert set(needs) <= done.keys(), f"{name}: its needs come after it"
            results = {done[need]["result"] for need in needs}
            of_job = scope | {
                "needs": {need: done[need] for need in needs},
                "success": results <= {"success"},
                "failure": "failure" in results,
                "always": True,
                "cancelled": False,
            }
            allowed = dict(job.get("permissions", workflow.get("permissions", granted or {})))
            beyond = {} if granted is None else allowed.items() - granted.items()
            assert not beyond, f"{prefix}{name}: the caller does not grant {dict(beyond)}"
            if condition(job.get("if"), of_job):
                done[name] = self.job(prefix + name, job, of_job, allowed)
            else:
                done[name] = {"result": "skipped", "outputs": Known({}, "")}
                self.run.jobs[prefix + name] = Job("skipped")
        on = workflow[True]
        declared = (on.get("workflow_call") or {}) if isinstance(on, Mapping) else {}
        outputs = scope | {"jobs": done}
        return {
            name: filled(item["value"], outputs)
            for name, item in declared.get("outputs", {}).items()
        }

    def job(
        self, name: str, job: Mapping[str, Any], scope: dict[str, Any], allowed: Mapping[str, str]
    ) -> dict[str, Any]:
        """Run a job, or each job of a matrix; return its result and outputs."""
        for key in _IGNORED & job.keys() - ({"name"} if "strategy" in job else set()):
            _sound(job[key], scope | {"matrix": Known({}, "")})
        if "uses" in job:
            return self.called(name, job, scope, allowed)
        keys = {*_IGNORED, "needs", "if", "strategy", "permissions", "outputs", "steps", "env"}
        assert job.keys() <= keys, f"{name}: {job.keys() - keys}"
        strategy = job.get("strategy", {})
        assert strategy.keys() <= {"fail-fast", "matrix"}, name
        axes = _filled(strategy.get("matrix", {}), scope)
        assert not axes.keys() & {"include", "exclude"}, name
        results, outputs = set(), Known({}, "")
        for values in itertools.product(*axes.values()):
            job_scope = scope | {"matrix": dict(zip(axes, values, strict=True))}
            label = f"{name}[{','.join(map(str, values))}]" if values else name
            job_results = self.steps(label, job, job_scope, allowed)
            self.run.jobs[label] = job_results
            results.add(job_results.result)
            outputs.update({key: value for key, value in job_results.outputs.items() if value})
        return {"result": "failure" if "failure" in results else "success", "outputs": outputs}

    def steps(
        self, name: str, job: Mapping[str, Any], scope: dict[str, Any], allowed: Mapping[str, str]
    ) -> Job:
        """Run the steps of one job on a clean machine, with its own token."""
        token = f"{TOKEN}-{len(self.github.tokens)}"
        # A fork's pull request has a read-only token.
        self.github.tokens[token] = {
            kind: "read" if self.event.fork else right for kind, right in allowed.items()
        }
        folder = self.folder / name.replace("/", "-")
        runner = Runner(self.github, folder, self.checkout, folder / "workspace", self.environment)
        runner.installs, runner.artifacts = self.installs, self.run.artifacts
        runner.event = self.event.name, self.event.payload
        job_scope = scope | {"github": scope["github"] | {"token": token}}
        job_scope["env"] = {**job_scope["env"], **_filled(job.get("env", {}), job_scope)}
        step_results = runner.steps(job["steps"], job_scope)
        outputs = _filled(job.get("outputs", {}), job_scope | step_results)
        return runner.job(outputs)

    def called(
        self, name: str, job: Mapping[str, Any], scope: dict[str, Any], allowed: Mapping[str, str]
    ) -> dict[str, Any]:
        """Run a workflow of this repository that a job calls; return its result and outputs."""
        keys = {"name", "needs", "if", "permissions", "uses", "with", "secrets"}
        assert job.keys() <= keys, f"{name}: {job.keys() - keys}"
        workflow = read_yaml(ROOT / own_path(job["uses"]))
        declared = workflow[True]["workflow_call"]
        called_inputs, handed = (
            _filled(job.get("with", {}), scope),
            _filled(job.get("secrets", {}), scope),
        )
        assert called_inputs.keys() <= declared["inputs"].keys(), (
            called_inputs.keys() - declared["inputs"].keys()
        )
        assert handed.keys() <= declared["secrets"].keys(), handed.keys()
        inputs = {}
        for key, item in declared["inputs"].items():
            assert key in called_inputs or not item.get("required"), f"{name}: {key} is required"
            inputs[key] = called_inputs.get(key, item.get("default"))
            kind: Any = {"string": str, "number": (int, float), "boolean": bool}[item["type"]]
            assert isinstance(inputs[key], kind), f"{name}: {key} is no {item['type']}"
        before = set(self.run.jobs)
        outputs = self.workflow(workflow, inputs, Known(handed, ""), allowed, f"{name}/")
        results = {self.run.jobs[of].result for of in self.run.jobs.keys() - before}
        self.run.outputs[name] = outputs
        result = "failure" if "failure" in results else "success"
        return {"result": result, "outputs": Known(outputs, "")}

    def facts(self) -> dict[str, Any]:
        """The context `github`."""
        return {
            "repository": REPOSITORY,
            "event_name": self.event.name,
            "event": Known(self.event.payload, None),
            "ref": f"refs/heads/{self.event.branch}",
            "workflow": "tables",
        }


def run_action(
    github: GitHub,
    folder: Path,
    workspace: Path,
    *,
    environment: Mapping[str, str] | None = None,
    steps: int | None = None,
    other_uploads: Mapping[str, Path] | None = None,
    **inputs: str,
) -> Job:
    """Run the model gate's action alone, without its installation.

    Arguments:
        github: the API and the artifacts to download.
        folder: an empty one for the runner's files.
        workspace: the checkout of the calling repository.
        environment: additional variables of the job.
        steps: the number of steps to run, if not all.
        other_uploads: artifacts by name from other jobs of the same run.
        inputs: the action's, `_` for `-`.
    """
    runner = Runner(github, folder, workspace, workspace, dict(environment or {}))
    runner.artifacts = dict(other_uploads or {})
    runner.limit = steps
    normalized = {name.replace("_", "-"): value for name, value in inputs.items()}
    facts = {"repository": REPOSITORY, "token": TOKEN}
    outputs = runner.composite(ACTION, normalized, {"github": facts, "env": {}})
    runner.artifacts = {
        name: path for name, path in runner.artifacts.items() if name not in (other_uploads or {})
    }
    return runner.job(outputs)


def _filled(values: Mapping[str, Any], scope: Mapping[str, Any]) -> dict[str, Any]:
    return {key: filled(value, scope) for key, value in values.items()}


def _sound(value: Any, scope: Mapping[str, Any]) -> None:
    """Fill in every text, to find errors."""
    if isinstance(value, Mapping):
        value = list(value.values())
    for part in value if isinstance(value, list) else [value]:
        filled(part, scope)
