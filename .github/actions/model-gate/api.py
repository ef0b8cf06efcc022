"""GitHub's API: one request, and a clear line where it says no."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from inputs import GateError, printable

__all__ = ["ask"]


def ask(
    environ: Mapping[str, str],
    path: str,
    *,
    right: str = "actions: read",
    send: tuple[str, Mapping[str, str]] | None = None,
    answers: type[dict[str, Any]] | type[list[Any]] = dict,
) -> Any:
    """Return what GitHub's API says. Raises `GateError`.

    Arguments:
        environ: holds the address of the API and the token.
        path: what is asked for, or changed.
        right: the permission that the token needs.
        send: method and content of a change; else it is read.
        answers: an object, or a list.
    """
    address = environ.get("GITHUB_API_URL", "https://api.github.com")
    parts = urllib.parse.urlsplit(address)
    if parts.scheme != "https" and parts.hostname != "127.0.0.1":
        raise GateError("GITHUB_API_URL: an https address")
    method, content = send or ("GET", None)
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(  # noqa: S310 (the scheme is checked above)
        address + path, data=body, method=method
    )
    request.add_header("Accept", "application/vnd.github+json")
    request.add_header("X-GitHub-Api-Version", "2022-11-28")
    if body is not None:
        request.add_header("Content-Type", "application/json")
    if token := environ.get("GATE_TOKEN"):
        # Not sent on to wherever a redirect points.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310 (as above)
            answer = json.load(response)
    except urllib.error.HTTPError as error:
        error.close()
        hint = f"; the job needs 'permissions: {right}'" if error.code in {401, 403} else ""
        raise GateError(f"GitHub answered {error.code} to {printable(path)}{hint}") from None
    except (OSError, ValueError) as error:
        raise GateError(f"GitHub gave no answer to {printable(path)}: {error}") from None
    if not isinstance(answer, answers):
        kind = "object" if answers is dict else "list"
        raise GateError(f"GitHub gave no {kind} for {printable(path)}")
    return answer
