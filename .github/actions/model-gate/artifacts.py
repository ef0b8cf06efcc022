"""Artifacts of earlier runs: which one may be trusted, asked of GitHub's API."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping
from typing import Any

from api import ask
from inputs import GateError, one_line

__all__ = ["artifact_outputs", "find"]

PAGES = 10
"""Pages of a hundred artifacts that are looked through, newest first."""

_REPOSITORY = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")


def find(
    environ: Mapping[str, str], repository: str, name: str, *, finished: bool
) -> dict[str, Any] | None:
    """Return the newest artifact of a name that the trusted branch of a repository made.

    Artifacts of other branches, and of forks whose branch has the same name, are anybody's: what
    they hold would become answers and baselines of ours, so they are passed over.

    Arguments:
        environ: holds the address of GitHub's API, the token and the branch.
        repository: owner/name.
        name: the artifact's.
        finished: only of runs that ended in success.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise GateError("baseline-repository: owner/name")
    branch = one_line(environ, "GATE_BRANCH") or ask(environ, f"/repos/{repository}").get(
        "default_branch"
    )
    query = urllib.parse.urlencode({"name": name, "per_page": 100})
    for page in range(1, PAGES + 1):
        listed = ask(environ, f"/repos/{repository}/actions/artifacts?{query}&page={page}")
        artifacts = listed.get("artifacts") or []
        for artifact in artifacts:
            made_by = artifact.get("workflow_run") or {}
            if (
                artifact.get("name") == name
                and not artifact.get("expired")
                and made_by.get("head_branch") == branch
                and made_by.get("repository_id") is not None
                and made_by.get("head_repository_id") == made_by.get("repository_id")
                and (not finished or succeeded(environ, repository, made_by))
            ):
                return dict(artifact)
        if len(artifacts) < 100:
            break
    return None


def succeeded(environ: Mapping[str, str], repository: str, made_by: Mapping[str, Any]) -> bool:
    """Whether a run has ended in success: what a failed gate measured is no baseline."""
    run = ask(environ, f"/repos/{repository}/actions/runs/{int(made_by['id'])}")
    return run.get("conclusion") == "success"


def artifact_outputs(kind: str, artifact: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the outputs that name an artifact to the download step; empty without one."""
    if artifact is None:
        return {f"{kind}-id": "", f"{kind}-run": ""}
    return {
        f"{kind}-id": str(int(artifact["id"])),
        f"{kind}-run": str(int(artifact["workflow_run"]["id"])),
    }
