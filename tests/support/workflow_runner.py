"""Run workflows and actions as GitHub does, on this machine.

Supported are jobs in the order of their needs, a matrix, called workflows with their permissions,
and composite actions. Scripts run in bash, with the declared variables in a clean folder. GitHub's
own actions have doubles that work on folders. An unknown key, expression or action is an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.github_world import ACTION, FORK, OWN, REPOSITORY, ROOT, TOKEN, GitHub
from tests.support.job_expressions import Known, condition, filled
from tests.support.job_steps import Job, Run, inputs_of, own_path, read_yaml

_KEYS = {
    *("name", "runs-on", "timeout-minutes", "concurrency", "needs", "if", "strategy"),
    *("permissions", "outputs", "steps", "env", "uses", "with", "secrets"),
}


@dataclass(frozen=True)
class Event:
    """The trigger of a workflow: a push to a branch, or to a pull request."""

    branch: str = "main"
    pull: int | None = None
    fork: bool = False

    @property
    def payload(self) -> dict[str, Any]:
        """The used parts of the webhook's payload."""
        if self.pull is None:
            return {}
        home = "stranger/product" if self.fork else REPOSITORY
        return {"pull_request": {"number": self.pull, "head": {"repo": {"full_name": home}}}}


@dataclass
class WorkflowRun(Run):
    """One run of a workflow, and its results."""

    event: Event = Event()
    jobs: dict[str, Job] = field(default_factory=dict)
    """By id; jobs of a called workflow as `caller/id`, jobs of a matrix as `id[1]`."""
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of the called workflows, by job."""

    @property
    def log(self) -> str:
        return "".join(f"[{name}]\n{job.log}" for name, job in self.jobs.items())

    @property
    def result(self) -> str:
        return _result(self.jobs.values())

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
        facts = {
            "repository": REPOSITORY,
            "event_name": self.event_name,
            "event": self.payload,
            "ref": f"refs/heads/{self.event.branch}",
            "workflow": "tables",
        }
        scope = {"github": facts, "inputs": inputs, "secrets": Known(secrets)}
        done: dict[str, Any] = {}
        for name, job in workflow["jobs"].items():
            assert job.keys() <= _KEYS, f"{name}: {job.keys() - _KEYS}"
            needs = [job["needs"]] if "needs" in job else []
            of_job = scope | {"needs": {need: done[need] for need in needs}}
            success = all(done[need]["result"] == "success" for need in needs)
            allowed = dict(job.get("permissions", workflow.get("permissions", granted or {})))
            beyond = {} if granted is None else allowed.items() - granted.items()
            assert not beyond, f"{prefix}{name}: the caller does not grant {dict(beyond)}"
            if not condition(job.get("if"), of_job, success=success):
                self.jobs[prefix + name] = self.machine(prefix + name, skipped=True)
                done[name] = {"result": "skipped", "outputs": Known()}
            elif "uses" in job:
                done[name] = self.called(prefix + name, job, of_job, allowed)
            else:
                done[name] = self.job(prefix + name, job, of_job, allowed)
        # YAML 1.1 reads the key `on` as true.
        on = workflow[True]
        declared = on["workflow_call"]["outputs"] if inputs else {}
        return filled({name: item["value"] for name, item in declared.items()}, {"jobs": done})

    def machine(self, name: str, *, skipped: bool = False) -> Job:
        folder = self.folder / name.replace("/", "-")
        return Job(self, folder, folder / "workspace", skipped=skipped)

    def job(
        self, name: str, job: Mapping[str, Any], scope: dict[str, Any], allowed: Mapping[str, str]
    ) -> dict[str, Any]:
        """Run a job, or each job of a matrix; return its result and outputs."""
        axes = filled(job.get("strategy", {}).get("matrix", {}), scope)
        assert not axes.keys() & {"include", "exclude"}, name
        jobs, outputs = [], Known()
        for values in itertools.product(*axes.values()):
            label = f"{name}[{','.join(map(str, values))}]" if values else name
            token = f"{TOKEN}-{len(self.github.tokens)}"
            # A fork's pull request has a read-only token.
            self.github.tokens[token] = {
                kind: "read" if self.event.fork else right for kind, right in allowed.items()
            }
            inner = scope | {"matrix": dict(zip(axes, values, strict=True))}
            inner |= {"github": scope["github"] | {"token": token}}
            filled({key: job.get(key) for key in ("name", "runs-on", "concurrency")}, inner)
            inner["env"] = filled(job.get("env", {}), inner)
            self.jobs[label] = machine = self.machine(label)
            inner |= machine.steps(job["steps"], inner)
            machine.outputs = filled(job.get("outputs", {}), inner)
            jobs.append(machine)
            outputs.update({key: value for key, value in machine.outputs.items() if value})
        return {"result": _result(jobs), "outputs": outputs}

    def called(
        self, name: str, job: Mapping[str, Any], scope: dict[str, Any], allowed: Mapping[str, str]
    ) -> dict[str, Any]:
        """Run a workflow of this repository that a job calls; return its result and outputs."""
        workflow = read_yaml(ROOT / own_path(job["uses"]))
        declared = workflow[True]["workflow_call"]
        inputs = inputs_of(declared["inputs"], filled(job.get("with", {}), scope))
        for key, item in declared["inputs"].items():
            kind: Any = {"string": str, "number": (int, float)}[item["type"]]
            assert isinstance(inputs[key], kind), f"{name}: {key} is no {item['type']}"
        secrets = filled(job.get("secrets", {}), scope)
        assert secrets.keys() <= declared["secrets"].keys(), secrets.keys()
        before = set(self.jobs)
        self.outputs[name] = self.workflow(workflow, inputs, secrets, allowed, f"{name}/")
        jobs = [self.jobs[of] for of in self.jobs.keys() - before]
        return {"result": _result(jobs), "outputs": Known(self.outputs[name])}


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
    name = "push" if event.pull is None else "pull_request"
    run = WorkflowRun(
        github, folder, checkout, environment or {}, name, event.payload, installs, event=event
    )
    run.workflow(read_yaml(path), {}, {} if event.fork else secrets or {}, None, "")
    for artifact, content in run.artifacts.items():
        head = FORK if event.fork else OWN
        github.add(artifact, content, branch=event.branch, head=head, conclusion=run.result)
    return run


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
    run = Run(github, folder, workspace, environment or {}, artifacts=dict(other_uploads or {}))
    job = Job(run, folder, workspace)
    job.limit = steps
    normalized = {name.replace("_", "-"): value for name, value in inputs.items()}
    facts = {"repository": REPOSITORY, "token": TOKEN}
    job.outputs = job.composite(ACTION, normalized, {"github": facts, "env": {}})
    return job


def _result(jobs: Iterable[Job]) -> str:
    return "failure" if any(job.exit_code for job in jobs) else "success"
