"""The address that takes part in a request's key."""

from __future__ import annotations

import os

import pytest

from pytest_tablebench.config.addresses import endpoint


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_BASE", "_BASE_URL", "_ENDPOINT")):
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("model", "provider", "variable"),
    # The names that litellm and the providers' own clients read.
    [
        ("openai/x", "openai", "OPENAI_BASE_URL"),
        ("gpt-4o", "openai", "OPENAI_API_BASE"),
        ("gpt-4o", None, "OPENAI_API_BASE"),
        ("claude-sonnet-4-5", "anthropic", "ANTHROPIC_BASE_URL"),
        ("claude-sonnet-4-5", "anthropic", "ANTHROPIC_API_BASE"),
        ("ollama_chat/x", "ollama_chat", "OLLAMA_API_BASE"),
        ("ollama_chat/x", None, "OLLAMA_API_BASE"),
        ("text-completion-openai/x", "text-completion-openai", "OPENAI_BASE_URL"),
        ("azure_ai/x", "azure_ai", "AZURE_AI_API_BASE"),
        ("hosted_vllm/x", "hosted_vllm", "HOSTED_VLLM_API_BASE"),
        ("vertex_ai/x", "vertex_ai", "VERTEXAI_API_BASE"),
        ("huggingface/x", "huggingface", "HF_API_BASE"),
        ("bedrock/x", "bedrock", "AWS_BEDROCK_RUNTIME_ENDPOINT"),
    ],
)
def test_the_environment_of_the_provider_counts(
    monkeypatch: pytest.MonkeyPatch, model: str, provider: str | None, variable: str
) -> None:
    monkeypatch.setenv(variable, "http://me:hunter2@gateway:4000/v1")
    assert endpoint(model, None, provider) == "http://gateway:4000/v1"
    assert endpoint(model, "http://me:hunter2@here/v1", provider) == "http://here/v1"
    assert endpoint("mistral/x", None, "mistral") is None


def test_of_two_variables_either_one_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_BASE", "http://one")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://two")
    both = endpoint("claude-x", None, "anthropic")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://three")
    assert endpoint("claude-x", None, "anthropic") != both
