"""Compare what was sent with what litellm would have sent, in a process that gets no call's time.

`python -m pytest_tablebench.models.translation.check` reads a `SentRequest` from its input and
writes the parts that differ as a JSON list.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_tablebench.models.base import Request
from pytest_tablebench.models.litellm_model import LiteLLMModel

LOWEST_PRIORITY = 19


@dataclass(frozen=True)
class SentRequest:
    """A request that was sent from a kept translation.

    Arguments:
        model: the model that was called.
        request: the request.
        url: the address.
        headers: all headers.
        body: the bytes of the body.
    """

    model: LiteLLMModel
    request: Request
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


async def differences(sent: SentRequest) -> list[str] | None:
    """Return the parts of a request that litellm would send otherwise.

    None if that is unknown, because the process ended without a result.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        output, _ = await process.communicate(pickle.dumps(sent))
        parts = json.loads(output)
    except ValueError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
    return [str(part) for part in parts]


async def compared(sent: SentRequest) -> list[str]:
    """Return the parts of a request that differ from litellm's. Raises what litellm raises.

    It is a coroutine because OpenAI's client sends whether it was called in an event loop.
    """
    from pytest_tablebench.models.direct import DirectModel

    reasons: list[str] = []
    direct = DirectModel(sent.model, connections=1, tell=reasons.append)
    call = direct.translated(sent.request)
    if call is None:
        return reasons or ["the provider"]
    wire, body = call
    parts = {
        "address": (sent.url, wire.url),
        "headers": (dict(sent.headers), dict(wire.headers)),
        "body": (sent.body, body),
    }
    return [name for name, (kept, translated) in parts.items() if kept != translated]


def main() -> int:
    """Compare the request on the standard input."""
    with contextlib.suppress(AttributeError, OSError):  # Windows has no priorities of this kind
        os.nice(LOWEST_PRIORITY)
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    sent = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - written by the caller
    sys.stdout.write(json.dumps(asyncio.run(compared(sent))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
