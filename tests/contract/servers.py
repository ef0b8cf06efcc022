"""Servers that we did not write, as processes on 127.0.0.1."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.runs import until

LAUNCHER = Path(__file__).parent / "until_stdin_ends.py"

LIFE_S = 900
"""Seconds after which a server ends by itself, whatever became of the test run."""

START_S = 180
"""Seconds a server may take to listen: litellm's proxy imports some thousand modules."""

# A port nobody can listen at: whatever is asked for outside of this machine fails at once.
NOWHERE = "http://127.0.0.1:1"


@dataclass(frozen=True)
class ForeignServer:
    """A server that listens; made by `started`."""

    popen: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def url(self) -> str:
        """What a client takes as its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def output(self) -> str:
        """All it has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    @classmethod
    def start(
        cls, python: str, folder: Path, port: int, module: str, *arguments: str, **variables: str
    ) -> ForeignServer:
        """Start `python -m module` in a folder; `wait` says when it listens."""
        kept = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG", "LD_LIBRARY_PATH")
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        environment |= {"HOME": str(folder), "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
        environment |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NOWHERE)
        environment |= dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), NOWHERE)
        environment |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **variables}
        log = folder / "server.txt"
        with log.open("wb") as stream:
            popen = subprocess.Popen(
                [python, str(LAUNCHER), str(LIFE_S), module, *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        return cls(popen, port, log)

    def wait(self, path: str, headers: Mapping[str, str] | None = None) -> None:
        """Wait until a GET of the path is answered with status 200."""

        def ready() -> bool:
            assert self.popen.poll() is None, f"the server ended:\n{self.output[-3000:]}"
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                connection.request("GET", path, headers=dict(headers or {}))
                status = connection.getresponse().status
            except OSError:
                return False
            finally:
                connection.close()
            return status == 200

        until(ready, f"{path} of {self.popen.args!r}", seconds=START_S)

    def end(self) -> None:
        """End the process and wait for it."""
        self.popen.kill()
        self.popen.wait(30)
        assert self.popen.stdin is not None
        self.popen.stdin.close()


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


def interpreter(variable: str, modules: Sequence[str], extra: str) -> str:
    """The interpreter that has the modules: the one an environment variable names, or this one.

    The servers' packages conflict with pins of ours, so they mostly have an environment of
    their own. Skips where there is none; a variable that names a wrong one is a failure.
    """
    named = os.environ.get(variable)
    python = named or sys.executable
    look = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
    command = [python, "-c", look, *modules]
    found = subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0
    if not found and named:
        pytest.fail(f"{variable}: {named} does not have {', '.join(modules)}")
    if not found:
        pytest.skip(
            f"not installed: pip install 'pytest-tablebench[{extra}]', or in an environment of "
            f"its own whose interpreter {variable} names"
        )
    return python
