"""HTTP clients for calls that do not use the session which litellm takes.

These are calls to Azure, text completions, and all calls to batch services. The clients that
litellm and OpenAI's package make for them follow a redirect to any server. They send it the
prompts and the headers `api-key` and `x-api-key`; only `Authorization` is left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
from yarl import URL

from pytest_tablebench.models._sessions import CALL_STATE, litellm_client, refused_redirect

if TYPE_CHECKING:
    import openai

CHUNK = 1 << 20
"""Bytes of a file that one step reads."""


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


@contextmanager
def one_server_client(litellm: Any) -> Iterator[None]:
    """Let litellm's calls to Azure inside the block follow redirects on one server only.

    A client that the user has set stays. The calls raise `RedirectRefused`, which litellm hides
    among the causes of its own error.
    """
    if litellm.client_session is not None:
        yield
        return
    litellm.client_session = _client_of_one_server()
    try:
        yield
    finally:
        litellm.client_session = None


def openai_call(
    litellm: Any,
    method: str,
    *,
    api_base: str | None,
    api_key: str | None,
    timeout: float,
    max_retries: int = 2,
    **arguments: Any,
) -> Any:
    """Call a batch service of OpenAI's protocol, with redirects on one server only.

    Arguments:
        litellm: the module, which contains the client and the key that the user has set.
        method: litellm's name of the call.
        api_base: address of the server; None uses the environment, or OpenAI's address.
        api_key: of the server; None uses litellm's setting or the environment.
        timeout: seconds that one exchange may take.
        max_retries: retries of a call that failed without a reply.
        arguments: of the call.

    Raises the errors of OpenAI's client.
    """
    import openai

    client = openai.OpenAI(
        api_key=api_key or litellm.api_key or litellm.openai_key,
        base_url=api_base or litellm.api_base or os.environ.get("OPENAI_API_BASE"),
        organization=litellm.organization or os.environ.get("OPENAI_ORGANIZATION"),
        timeout=timeout,
        max_retries=max_retries,
        http_client=litellm.client_session or _client_of_one_server(),
    )
    calls: dict[str, Callable[..., Any]] = {
        "create_file": client.files.create,
        "file_retrieve": client.files.retrieve,
        "file_content": lambda file_id: _chunks(client, file_id),
        "create_batch": client.batches.create,
        "list_batches": client.batches.list,
        "retrieve_batch": client.batches.retrieve,
    }
    return calls[method](**arguments)


def _chunks(client: openai.OpenAI, file_id: str) -> Iterator[bytes]:
    with client.files.with_streaming_response.content(file_id) as response:
        yield from response.iter_bytes(CHUNK)


def _client_of_one_server() -> httpx.Client:
    from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

    return httpx.Client(
        verify=get_ssl_configuration(),
        follow_redirects=True,
        event_hooks={"response": [_stay_on_server]},
    )


def _stay_on_server(response: httpx.Response) -> None:
    url = URL(str(response.url))
    refused = refused_redirect(url, response.status_code, response.headers)
    if refused is not None:
        response.close()
        raise refused
