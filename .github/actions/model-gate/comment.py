"""Says a gate's verdict in the pull request: one comment, which every later run changes.

Runs in a job of its own, whose token may write comments and which runs no code of the pull request.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from api import ask
from inputs import GateError, check_name, one_line, say

__all__ = ["main"]

PAGES = 10
"""Pages of a hundred comments that are looked through."""

LONGEST = 60_000
"""Characters of a summary; GitHub takes 65,536 of a comment."""

RIGHT = "pull-requests: write"


def main() -> int:
    """Write the comment or change it, and return the exit code."""
    try:
        commented(os.environ)
    except GateError as error:
        say("error", str(error))
        return 1
    return 0


def commented(environ: Mapping[str, str]) -> None:
    """Write the comment or change it. Raises `GateError`."""
    name = check_name(environ)
    pull = pull_request(environ)
    if pull is None:
        return
    mark = f"<!-- tablebench gate: {name} -->"
    body = f"{mark}\n{summary(environ, name)}\n\n{origin(environ)}\n"
    home = f"/repos/{environ.get('GITHUB_REPOSITORY', '')}/issues"
    found = own_comment(environ, f"{home}/{pull}/comments", mark)
    if found is None:
        ask(environ, f"{home}/{pull}/comments", right=RIGHT, send=("POST", {"body": body}))
        say("notice", f"a comment in pull request {pull}")
    else:
        path = f"{home}/comments/{int(found['id'])}"
        ask(environ, path, right=RIGHT, send=("PATCH", {"body": body}))
        say("notice", f"the comment in pull request {pull} is up to date")


def pull_request(environ: Mapping[str, str]) -> int | None:
    """Return the number of the pull request, None where none can be commented on."""
    try:
        event = json.loads(Path(environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        pull = event.get("pull_request")
        number = None if pull is None else int(pull["number"])
        fork = pull is not None and (
            (pull["head"]["repo"] or {}).get("full_name") != environ.get("GITHUB_REPOSITORY")
        )
    except (KeyError, OSError, TypeError, ValueError, AttributeError):
        raise GateError("the event of this job cannot be read") from None
    if number is None:
        say("notice", "no pull request, so no comment")
    elif fork:
        say("notice", "no comment: the token of a fork's pull request may write none")
        return None
    return number


def summary(environ: Mapping[str, str], name: str) -> str:
    """Return the verdict that the gate left, as Markdown."""
    folder = Path(environ["GATE_FOLDER"])
    for path in sorted(folder.glob("*/summary.md")):
        # The link in the last line is to a file of the run folder.
        text = path.read_text(encoding="utf-8").replace("\n[Full report](report.html)", "").strip()
        if len(text) <= LONGEST:
            return text
        return text[:LONGEST].rpartition("\n")[0] + "\n\nThe rest stands in the artifact."
    return f"**No verdict** on `{name}`: the gate's job says why."


def origin(environ: Mapping[str, str]) -> str:
    """Return the line that says what was measured, and where the rest is."""
    server, repository, run = (
        environ.get(f"GITHUB_{part}", "") for part in ("SERVER_URL", "REPOSITORY", "RUN_ID")
    )
    commit = environ.get("GITHUB_SHA", "")[:10]
    return f"Commit {commit}; [this run]({server}/{repository}/actions/runs/{run}) has all cases."


def own_comment(environ: Mapping[str, str], path: str, mark: str) -> dict[str, Any] | None:
    """Return the comment of an earlier run: it begins with the mark, and its author is ours."""
    author = one_line(environ, "GATE_AUTHOR")
    for page in range(1, PAGES + 1):
        found = ask(environ, f"{path}?per_page=100&page={page}", right=RIGHT, answers=list)
        for comment in found:
            if (comment.get("user") or {}).get("login") == author and str(
                comment.get("body")
            ).startswith(mark):
                return dict(comment)
        if len(found) < 100:
            break
    return None


if __name__ == "__main__":
    sys.exit(main())
