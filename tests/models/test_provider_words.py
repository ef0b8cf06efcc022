"""What errors of providers say about a prompt, an account or a filter."""

from __future__ import annotations

import pytest

from pytest_tablebench.errors import CONTENT_FILTER
from pytest_tablebench.models import _provider_words as words
from pytest_tablebench.models._provider_words import meaning_of, room_of

TOO_LONG = [
    "prompt is too long: 210000 tokens > 200000 maximum",  # Anthropic
    "Input is too long for requested model.",  # Bedrock
    "Prompt exceeds max length",  # z.AI
    "Range of input length should be [1, 98304]",  # Qwen
    "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",  # xAI
    "too many tokens: total number of tokens in the prompt cannot exceed 128000",  # Cohere
    "too many tokens: size limit exceeded by 11326 tokens. Try using fewer inputs.",  # Cohere
    "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000",
    "Please reduce the length of the messages or completion.",  # Groq, Cerebras
    "The input (12000 tokens) is longer than the model's context length (4096 tokens).",  # SGLang
    "the input length exceeds the context length",  # Ollama
    "the request exceeds the available context size, try increasing it",  # llama.cpp
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "`inputs` must have less than 4096 tokens. Given: 5000",  # TGI
    "Invalid request: Your request exceeded model token limit: 8192",  # Moonshot
    "invalid params, context window exceeds limit",  # MiniMax
    "The number of tokens to keep from the prompt is greater than the context length",  # LM Studio
    "the number of input tokens 5000 cannot exceed the total tokens limit 4096",  # watsonx
    "Request body too large for gpt-4o model. Max size: 8000 tokens.",  # GitHub
    "Requested 200000 tokens exceeds the maximum context length of 127072 tokens",  # Perplexity
]
OTHER = [
    "max_tokens is too large: 512. This model supports at most 256 completion tokens",
    "temperature must be strictly positive",
    "Rate limit reached for tokens per min (TPM): Limit 10000, Used 9000. Try again in 6s.",
    "Too many requests",
    "File size exceeds the limit",
    "Invalid 'temperature': must be between 0 and 2",
    "max_tokens must be at most 4096",
    "stop: too many stop sequences",
    "This model is not available in your country",
]


@pytest.mark.parametrize("text", TOO_LONG)
def test_a_prompt_that_is_too_long_is_recognized(text: str) -> None:
    assert meaning_of(400, text) == words.TOO_LONG
    assert room_of(text) is None


@pytest.mark.parametrize("text", OTHER)
def test_other_errors_mean_nothing_of_this(text: str) -> None:
    assert meaning_of(400, text) is None
    assert room_of(text) is None


@pytest.mark.parametrize(
    ("text", "room"),
    [
        # 600 - 150, 4,097 - 3,000, 4,096 - 3,585, 200,000 - 199,000, 8,193 - 3,000
        ("'max_tokens' is too large: 512. This model's maximum context length is 600 tokens and "
         "your request has 150 input tokens (512 > 600 - 150).", 450),
        ("This model's maximum context length is 4097 tokens. However, you requested 5000 tokens "
         "(3000 in the messages, 2000 in the completion).", 1097),
        ("You passed 3585 input tokens and requested 512 output tokens. However, the model's "
         "context length is only 4096 tokens.", 511),
        ("input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000", 1000),
        ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 3000 `inputs` tokens and "
         "8000 `max_new_tokens`", 5193),
        ("maximum context length is 4,097 tokens. However, you requested 5,000 tokens (4,500 in "
         "the messages, 500 in the completion).", None),
    ],
)  # fmt: skip
def test_the_room_for_a_reply_is_read(text: str, room: int | None) -> None:
    assert room_of(text) == room


@pytest.mark.parametrize(
    "text",
    [
        "Content Exists Risk",  # DeepSeek
        "Input data may contain inappropriate content.",  # DashScope
        "The request was rejected because it was considered high risk",  # Moonshot
        "input new_sensitive",  # MiniMax
    ],
)
def test_filters_are_recognized(text: str) -> None:
    assert meaning_of(400, text) == CONTENT_FILTER


@pytest.mark.parametrize(
    "text",
    ["Insufficient credits", "Insufficient Balance", "Your credit balance is too low", "余额不足"],
)
def test_an_empty_account_is_recognized(text: str) -> None:
    assert meaning_of(400, text) == words.NO_CREDIT
    assert meaning_of(429, text) == words.NO_QUOTA
