"""The models `plain/...`: a registered provider that calls an `OpenAIServer` without litellm.

Importing litellm takes most of the time of a short run. Tests of whole pytest processes use these
models, unless they test how litellm reads replies. The field `user` of a request names the calling
process. Loaded with `-p tests.support.plain_model`.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import Reply, Request
from pytest_tablebench.models.base import as_openai

KEY = ("auth", "the API key is missing, wrong or not allowed")
STATUS = {
    401: KEY,
    403: KEY,
    404: ("not_found", "unknown model or wrong address; check both"),
    429: ("rate_limit", "too many requests"),
    500: ("server_error", "the server failed with status 500"),
}
"""Status -> the reason and the words of our errors for litellm."""


class Plain:
    """Calls the server at the run's address, with one connection for each call."""

    def __init__(self, model: str, settings: Settings) -> None:
        self.model = model
        self.base = urlsplit(settings.api_base or "")

    def complete(self, request: Request) -> Reply:
        messages, process = as_openai(request.messages), str(os.getpid())
        body = {"model": self.model.partition("/")[2], "messages": messages, "user": process}
        try:
            status, content = self.post(json.dumps(body))
        except ConnectionRefusedError:
            raise self.failure("unreachable", "no connection", again=True, all_=True) from None
        except (ConnectionError, http.client.HTTPException):
            raise self.failure("server_error", "closed too early", again=True) from None
        if status != 200:
            raise self.failure(*STATUS[status], again=status in {429, 500}, all_=status < 429)
        [choice] = content["choices"]
        if choice["finish_reason"] == "content_filter":
            raise self.failure("content_filter", "withheld")
        usage = content["usage"]
        return Reply(
            choice["message"]["content"],
            finish_reason=choice["finish_reason"],
            prompt_tokens=usage["prompt_tokens"],
            completion_tokens=usage["completion_tokens"],
        )

    def post(self, body: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self.base.hostname or "", self.base.port)
        # The key of the calling process; on a cluster that is a worker's own.
        headers = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
        try:
            connection.request("POST", f"{self.base.path}/chat/completions", body, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def failure(
        self, reason: str, words: str, *, again: bool = False, all_: bool = False
    ) -> ModelError:
        why = f"{self.model}: {words}"
        return ModelError(why, reason=reason, retryable=again, whole_run=all_)


def pytest_tablebench_register_provider(register: Callable[..., None]) -> None:
    register("plain", Plain)
