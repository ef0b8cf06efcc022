"""The HTTP client for litellm's calls through OpenAI's package: Azure and text completions.

That package's own client follows a redirect to any server. It sends it the prompts and the headers
`api-key` and `x-api-key`; only `Authorization` is left out.
"""

from __future__ import annotations

from typing import Any

import httpx

from pytest_tablebench.models._sessions import CALL_STATE, litellm_client


class SessionClient(httpx.AsyncClient):
    """A client whose requests use the session of the running event loop.

    litellm keeps one client for all event loops of the process. Requests that this package did
    not make are sent as by any other client.
    """

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request; see `httpx.AsyncClient.send`."""
        if CALL_STATE.get(None) is None:
            return await super().send(request, **options)
        response: httpx.Response = await litellm_client().client.send(request, **options)
        return response


def use_session_client(litellm: Any) -> None:
    """Set our session client for litellm's asynchronous calls through OpenAI's package.

    A client that the user has set stays.
    """
    if litellm.aclient_session is None:
        litellm.aclient_session = SessionClient(follow_redirects=True)
