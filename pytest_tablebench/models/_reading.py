"""A reply as a compat mode reads it."""

from __future__ import annotations

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.errors import CUT_OFF, ModelError
from pytest_tablebench.models.base import Reply


def as_read(reply: Reply, compat: Compat) -> Reply:
    """Return a reply as strategies and metrics receive it.

    `fixed` reads the answer without the model's thoughts. `reference` reads the whole text, as the
    published code does, however the reply ended.

    Raises `ModelError` in `fixed` for a reply that the token limit ended before its answer.
    """
    if compat == "reference":
        return reply.with_all_text()
    if reply.is_cut_off:
        tokens = reply.completion_tokens
        after = "" if tokens is None else f" after {tokens} tokens"
        content = "thoughts alone" if reply.written.strip() or reply.thinking else "no text"
        raise ModelError(
            f"the token limit ended the reply{after}, which holds {content}", reason=CUT_OFF
        )
    return reply
