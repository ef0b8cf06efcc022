"""Reports a drift in one issue: opened once, updated at every look, closed without a drift."""

from __future__ import annotations

import os
import sys
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from api import ask
from inputs import GateError, check_name, one_line, say

__all__ = ["main"]

DRIFT, NO_DRIFT = "10", "0"
"""Exit codes of `tablebench watch`."""

PAGES = 10
"""Pages of a hundred issues that are searched."""

LONGEST = 60_000
"""Characters of an issue's text; GitHub takes 65,536."""

RIGHT = "issues: write"


def main() -> int:
    """Open, update or close the issue, and return the exit code."""
    try:
        report(os.environ)
    except GateError as error:
        say("error", str(error))
        return 1
    return 0


def report(environ: Mapping[str, str]) -> None:
    """Open, update or close the issue. Raises `GateError`."""
    name, code = check_name(environ), environ.get("WATCH_CODE", "")
    mark = f"<!-- tablebench watch: {name} -->"
    home = f"/repos/{environ.get('GITHUB_REPOSITORY', '')}/issues"
    present = open_issue(environ, home, mark)
    if present is None and code != DRIFT:
        say("notice", "no drift is reported, so there is no issue")
        return
    try:
        text = Path(environ["WATCH_FILE"]).read_text(encoding="utf-8")[:LONGEST]
    except (KeyError, OSError, ValueError):
        raise GateError("file: the Markdown of tablebench watch cannot be read") from None
    content = {"body": f"{mark}\n{text}\n{origin(environ)}\n"}
    if present is None:
        content["title"] = f"The watched model has drifted ({name})"
        ask(environ, home, right=RIGHT, send=("POST", content))
        say("notice", "an issue is opened")
        return
    if code == NO_DRIFT:
        content["state"] = "closed"
    ask(environ, f"{home}/{int(present['number'])}", right=RIGHT, send=("PATCH", content))
    say("notice", f"issue {int(present['number'])} is up to date")


def origin(environ: Mapping[str, str]) -> str:
    """Return the line with the address of this run."""
    server, repository, run = (
        environ.get(f"GITHUB_{part}", "") for part in ("SERVER_URL", "REPOSITORY", "RUN_ID")
    )
    return f"[This run]({server}/{repository}/actions/runs/{run}) has the page."


def open_issue(environ: Mapping[str, str], home: str, mark: str) -> dict[str, Any] | None:
    """Return the open issue of an earlier run: its author is ours, and it begins with the mark."""
    author = one_line(environ, "GATE_AUTHOR")
    creator = urllib.parse.quote(author, safe="")
    for page in range(1, PAGES + 1):
        path = f"{home}?state=open&creator={creator}&per_page=100&page={page}"
        issues = ask(environ, path, right=RIGHT, answers=list)
        for issue in issues:
            is_ours = (issue.get("user") or {}).get("login") == author
            if is_ours and str(issue.get("body")).startswith(mark):
                return dict(issue)
        if len(issues) < 100:
            break
    return None


if __name__ == "__main__":
    sys.exit(main())
