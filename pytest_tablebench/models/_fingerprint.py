"""Read the name that a provider gives to the version of the model that answered."""

from __future__ import annotations

from collections.abc import Mapping

VERSION_HEADERS = ("openai-version", "azureml-model-session", "x-model-version")
"""The response headers that name a version of the model or of the service."""

PREFIXES = ("", "llm_provider-")
"""litellm repeats the headers of a provider with this prefix."""

LONGEST = 200
"""Characters that are kept of a fingerprint."""


def fingerprint_of(named: object, headers: Mapping[str, object] | None = None) -> str | None:
    """Return the fingerprint in one line of text; None if the response names no version.

    Arguments:
        named: the field `system_fingerprint` of the response.
        headers: the headers of the response, or litellm's copy of them.
    """
    parts = [named] if isinstance(named, str) and named else []
    if headers:
        present = {str(name).lower(): value for name, value in headers.items()}
        for name in VERSION_HEADERS:
            values = (present.get(prefix + name) for prefix in PREFIXES)
            text = next((value for value in values if isinstance(value, str) and value), None)
            if text is not None:
                parts.append(f"{name} {text}")
    return "; ".join(parts)[:LONGEST] or None
