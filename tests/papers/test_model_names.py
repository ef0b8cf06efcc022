"""Recognition of the model of a published row by its name."""

from __future__ import annotations

import pytest

from pytest_tablebench.papers._published import published, published_name

TORR = [line["model"] for line in published("torr_table2")]

SPELLINGS = {
    "gpt-4o": (
        *("gpt-4o", "openai/gpt-4o-2024-11-20", "azure/gpt-4o", "GPT-4o", "gpt4o"),
        *("openrouter/openai/gpt-4o", "gpt-4o-2024-05-13"),
    ),
    "gpt-4o-mini": ("openai/gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
    "claude-3-5-sonnet": (
        *("claude-3-5-sonnet-20241022", "anthropic/claude-3.5-sonnet", "claude-3-5-sonnet-latest"),
        *("bedrock/us.anthropic.claude-3-5-sonnet-20241022-v2:0",),
        *("vertex_ai/claude-3-5-sonnet-v2@20241022",),
    ),
    "claude-3-5-haiku": ("bedrock/anthropic.claude-3-5-haiku-20241022-v1:0",),
    "deepseek-v3": (
        "deepseek-ai/DeepSeek-V3",
        "fireworks_ai/accounts/fireworks/models/deepseek-v3",
    ),
    "gemini-1.5-pro": ("gemini/gemini-1.5-pro", "vertex_ai/gemini-1.5-pro-002"),
    "gemini-1.5-flash": ("gemini/gemini-1.5-flash-latest",),
    "qwen2-72b-i": ("Qwen/Qwen2-72B-Instruct", "ollama/qwen2:72b", "qwen2-72b-i"),
    "llama-3-1-405b-i": (
        "together_ai/meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo",
        "fireworks_ai/accounts/fireworks/models/llama-v3p1-405b-instruct",
        "bedrock/meta.llama3-1-405b-instruct-v1:0",
    ),
    "llama-3-1-70b-i": ("hosted_vllm/meta-llama/Llama-3.1-70B-Instruct", "ollama/llama3.1:70b"),
    "llama-3-1-8b-i": ("llama-3-1-8b-instruct", "openrouter/meta-llama/llama-3.1-8b-instruct:free"),
    "mixtral-8x22b-i": ("mistralai/Mixtral-8x22B-Instruct-v0.1", "mistral/open-mixtral-8x22b"),
    "mixtral-8x7b-i": ("bedrock/mistral.mixtral-8x7b-instruct-v0:1",),
    "mistral-7b-i": ("mistralai/Mistral-7B-Instruct-v0.3", "ollama_chat/mistral:7b"),
}

OTHERS = (
    *("gpt-4o-audio-preview", "chatgpt-4o-latest", "gpt-4", "gpt-4.1", "gpt-4o-search-preview"),
    *("claude-3-opus-20240229", "claude-3-7-sonnet-20250219", "claude-sonnet-4-5"),
    *("deepseek/deepseek-chat", "deepseek-ai/DeepSeek-V3.1", "deepseek-v2", "deepseek-v3-0324"),
    *("gemini-1.5-flash-8b", "gemini-2.0-flash", "gemini-1.0-pro"),
    *("Qwen2.5-72B-Instruct", "Qwen2-72B", "qwen2-7b-instruct"),
    *("meta-llama/Llama-3.1-8B", "llama-3-8b-instruct", "ollama/llama3.1:70b-instruct-q4_0"),
    *("mistralai/Mistral-7B-v0.1", "tablebench/lexical", "", "/", "-i", "x" * 100_000),
)


def test_every_published_row_has_spellings_in_this_module():
    assert sorted(SPELLINGS) == sorted(TORR)


@pytest.mark.parametrize(
    ("model", "name"), [(spelling, name) for name, group in SPELLINGS.items() for spelling in group]
)
def test_a_spelling_of_a_published_model_is_recognized(model, name):
    assert published_name(model, TORR) == name


@pytest.mark.parametrize("model", OTHERS)
def test_another_model_is_not_recognized(model):
    assert published_name(model, TORR) is None


def test_names_of_other_leaderboards_are_recognized_too():
    treb = [line["model"] for line in published("treb_leaderboard")]
    realhit = dict.fromkeys(line["model"] for line in published("realhitbench"))
    assert published_name("hosted_vllm/Qwen/Qwen3-32B", treb) == "Qwen3-32B"
    assert published_name("deepseek/DeepSeek-R1-0528-Qwen3-8B", treb) == "DeepSeek-R1-0528-Qwen3-8B"
    assert published_name("openai/gpt-4o", realhit) == "GPT4o"
    assert published_name("ollama/llama3.1:8b", realhit) == "Llama3.1-8B-Instruct"
    assert published_name("ollama/llama3.1:8b", treb) == "Llama-3.1-8B-Instruct"
