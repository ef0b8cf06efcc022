"""The parts of GitHub that the model gate uses: artifacts and comments, in an API on loopback."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.loopback import LoopbackHandler, LoopbackServer

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / ".github" / "actions" / "model-gate" / "action.yml"
REPOSITORY = "team/product"
TOKEN = "ghs-marked-31c7e0"
OWN, FORK = 1, 2
"""Ids of the repository and of a fork of it."""

needs_action = pytest.mark.skipif(not ACTION.exists(), reason="no checkout: .github is not there")
needs_runner = [
    needs_action,
    pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed"),
]


@dataclass
class GitHub:
    """Artifacts and runs of repositories, and the API that returns them."""

    folder: Path
    url: str = ""
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    conclusions: dict[int, str | None] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    refuse: int | None = None
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    """By number of the pull request; oldest first."""
    issues: list[dict[str, Any]] = field(default_factory=list)
    tokens: dict[str, dict[str, str]] = field(
        default_factory=lambda: {TOKEN: {"contents": "read", "actions": "read"}}
    )
    """Permissions by token."""

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
        """Add an artifact of a new run; return the API's entry for it."""
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

    def comment(self, pull: int, body: str, author: str = "github-actions[bot]") -> dict[str, Any]:
        """Add a comment to a pull request; return the API's entry for it."""
        number = sum(map(len, self.comments.values())) + 1
        comment = {"id": number, "body": body, "user": {"login": author}}
        self.comments.setdefault(pull, []).append(comment)
        return comment

    def said(self, request: str, token: str | None, content: dict[str, Any]) -> tuple[int, Any]:
        """Return status and content of the response to a request, by method and address."""
        if self.refuse:
            return self.refuse, {}
        method, _, address = request.partition(" ")
        kind = "pull-requests" if "/comments" in address else "actions"
        if re.search(r"/issues(\?|$|/\d+$)", address):
            kind = "issues"
        needed = "read" if method == "GET" else "write"
        has = self.tokens.get((token or "").removeprefix("Bearer "), {}).get(kind)
        asks = "/actions/" in address or "/issues" in address
        if asks and has not in {needed, "write"}:
            return 403, {}
        if method == "GET":
            answer = self.answer(address)
            return (404, {}) if answer is None else (200, answer)
        match method, address.removeprefix(f"/repos/{REPOSITORY}/issues").split("/"):
            case "POST", [""]:
                entry = {"number": len(self.issues) + 1, "state": "open"}
                self.issues.append({**entry, "user": {"login": "github-actions[bot]"}, **content})
                return 201, self.issues[-1]
            case "POST", ["", pull, "comments"]:
                return 201, self.comment(int(pull), content["body"])
            case "PATCH", ["", "comments", number]:
                every = [comment for of_pull in self.comments.values() for comment in of_pull]
                [changed] = [comment for comment in every if comment["id"] == int(number)]
            case "PATCH", ["", number]:
                changed = self.issues[int(number) - 1]
            case _:
                raise AssertionError(request)
        changed.update(content)
        return 200, changed

    def answer(self, address: str) -> Any:
        """Return the API's content at an address; None if there is none."""
        parts = urlsplit(address)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        match = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", parts.path)
        if match is None:
            return None
        repository, rest = match[1], match[2] or ""
        if not rest:
            return {"default_branch": "main"}
        if run := re.fullmatch(r"/actions/runs/(\d+)", rest):
            return {"conclusion": self.conclusions[int(run[1])]}
        size, page = int(query["per_page"]), int(query["page"])
        if of := re.fullmatch(r"/issues/(\d+)/comments", rest):
            return self.comments.get(int(of[1]), [])[(page - 1) * size : page * size]
        if rest == "/issues":
            shown = [issue for issue in self.issues if issue["state"] == query["state"]]
            return shown[(page - 1) * size : page * size]
        if rest == "/actions/artifacts":
            named = [
                artifact
                for artifact in self.artifacts
                if (artifact["name"], artifact["repository"]) == (query["name"], repository)
            ]
            return {"artifacts": named[(page - 1) * size : page * size]}
        return None

    @contextmanager
    def serve(self) -> Iterator[GitHub]:
        """Serve on a free port of this machine inside a with statement."""
        with LoopbackServer(_Handler) as server:
            server._http.owner = self
            self.url = server.url
            yield self


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GitHub]:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    with GitHub(folder).serve() as world:
        yield world


class _Handler(LoopbackHandler):
    methods = ("GET", "POST", "PATCH")

    def respond(self) -> None:
        world, token = self.owner, self.headers.get("Authorization")
        world.asked.append((self.path, token))
        content = json.loads(self.content() or b"{}")
        self.reply(*world.said(f"{self.command} {self.path}", token, content))
