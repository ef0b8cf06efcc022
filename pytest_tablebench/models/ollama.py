"""The context window that requests to Ollama name.

Without `num_ctx` Ollama reads a few thousand tokens, drops the front of a longer prompt and answers
as if nothing had happened. So every request names the window that the model has, or else one that
is long enough for the prompts so far. The window only has to be long enough: it is no part of the
key of an answer.
"""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.config.parameters import REPLY_LIMITS
from pytest_tablebench.models._completions import count
from pytest_tablebench.models.base import Request

_ADDRESS = "http://localhost:11434"
_LEAST = 4096
_SECONDS = 5.0
_LONGEST = 8_000_000
"""Bytes of the longest description of a model; those with their vocabulary are long."""


@dataclass
class ContextWindow:
    """The window of one model.

    Arguments:
        model: its name, as litellm takes it.
        api_base: the address of the server; None: the one in the environment.
    """

    model: str
    api_base: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _limit: int | None = None
    _has_asked: bool = False
    _longest: int = _LEAST

    def limit(self) -> int | None:
        """Return the tokens that the model can read, as its server says; None if it does not."""
        with self._lock:
            if not self._has_asked:
                self._limit, self._has_asked = self._model_context(), True
            return self._limit

    def of(self, request: Request) -> int:
        """Return the window for a request: the model's own, or one that is long enough.

        Ollama loads a model again for another window, so windows without a known limit only grow,
        each time to the double.
        """
        limit = self.limit()
        if limit is not None:
            return limit
        # No common tokenizer needs more than one token for two bytes.
        replies = [value for name in REPLY_LIMITS if (value := count(request.params.get(name)))]
        needed = len(request.text.encode("utf-8", "replace")) // 2 + max(replies, default=_LEAST)
        with self._lock:
            while self._longest < needed:
                self._longest *= 2
            return self._longest

    def _model_context(self) -> int | None:
        base = self.api_base or os.environ.get("OLLAMA_API_BASE") or _ADDRESS
        name = self.model.partition("/")[2]
        try:
            question = urllib.request.Request(  # noqa: S310 - the address of the model's own server
                f"{base.rstrip('/')}/api/show",
                json.dumps({"model": name}).encode(),
                {"Content-Type": "application/json"},
            )
            with _OPENER.open(question, timeout=_SECONDS) as response:
                facts = json.loads(response.read(_LONGEST))["model_info"]
            return _limit_in(facts)
        except Exception:  # no server, an older one, or anything that it may send
            return None


def _limit_in(facts: Any) -> int | None:
    """Return the field such as `llama.context_length`, which is named after the architecture."""
    name = f"{facts.get('general.architecture')}.context_length"
    lengths = [value for key, value in facts.items() if key.endswith(".context_length")]
    return count(facts.get(name, lengths[0] if lengths else None)) or None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow no redirect to another server."""


_OPENER = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))
