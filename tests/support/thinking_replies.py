"""Replies of thinking models in the shapes of several servers.

The sources are the providers' public documentation of chat completions, messages and
generateContent, and the chat templates of the models.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.openai_server import Behaviour, completion, nonsense

THOUGHTS = "The table has two rows. So 5 and no."


def _completion(message: dict[str, Any], finish_reason: str, thought: int) -> Behaviour:
    choice = {"index": 0, "finish_reason": finish_reason}
    choice |= {"message": {"role": "assistant", **message}}
    return nonsense(completion([choice], (7, 30), thought=thought))


def openai_shape(style: str, answer: str) -> Behaviour:
    """Return a chat completion with thoughts before an answer, in the style of a kind of server."""
    messages: dict[str, dict[str, Any]] = {
        "deepseek-r1": {"content": f"<think>\n{THOUGHTS}\n</think>\n\n{answer}"},
        "qwen3": {"content": f"{THOUGHTS}\n</think>\n\n{answer}"},
        "qwen3, not thinking": {"content": f"<think>\n\n</think>\n\n{answer}"},
        "deepseek api": {"content": answer, "reasoning_content": THOUGHTS},
        "vllm parser": {"content": f"\n\n{answer}", "reasoning_content": THOUGHTS},
        "newer vllm": {"content": answer, "reasoning": THOUGHTS},
        "gpt-oss": {
            "content": f"<|channel|>analysis<|message|>{THOUGHTS}<|end|><|start|>assistant"
            f"<|channel|>final<|message|>{answer}<|return|>"
        },
        "magistral": {"content": f"[THINK]{THOUGHTS}[/THINK]{answer}"},
        "magistral api": {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHTS}]},
                {"type": "text", "text": answer},
            ]
        },
        "o-series": {"content": answer},
    }
    return _completion(messages[style], "stop", 20)


def openai_cut(style: str) -> Behaviour:
    """Return a chat completion that the token limit ended before its answer."""
    messages: dict[str, dict[str, Any]] = {
        "deepseek-r1": {"content": f"<think>\n{THOUGHTS}"},
        "deepseek api": {"content": "", "reasoning_content": THOUGHTS},
        "vllm parser": {"content": None, "reasoning_content": THOUGHTS},
        "gpt-oss": {"content": f"<|channel|>analysis<|message|>{THOUGHTS}"},
        "magistral": {"content": f"[THINK]{THOUGHTS}"},
        "o-series": {"content": ""},
    }
    return _completion(messages[style], "length", 30)


STYLES = (
    *("deepseek-r1", "qwen3", "qwen3, not thinking", "deepseek api", "vllm parser"),
    *("newer vllm", "gpt-oss", "magistral", "magistral api", "o-series"),
)
CUT_STYLES = ("deepseek-r1", "deepseek api", "vllm parser", "gpt-oss", "magistral", "o-series")


def claude(
    content: list[dict[str, Any]], reason: str, tokens: tuple[int, int] = (7, 30)
) -> Behaviour:
    """Return a message of Anthropic's API.

    https://docs.anthropic.com/en/docs/build-with-claude/tool-use
    """
    body = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": content, "stop_reason": reason, "stop_sequence": None,
        "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
    }  # fmt: skip
    return nonsense(json.dumps(body).encode())


def claude_shape(answer: str | None) -> Behaviour:
    """Return a message with a thinking block; None is cut off within it."""
    thinking = {"type": "thinking", "thinking": THOUGHTS, "signature": "c2ln"}
    if answer is None:
        return claude([thinking], "max_tokens")
    return claude([thinking, {"type": "text", "text": answer}], "end_turn")


def gemini(
    parts: list[dict[str, Any]], reason: str = "STOP", tokens: tuple[int, ...] = (70, 30)
) -> Behaviour:
    """Return a reply of Gemini's API; `tokens` are those of prompt, answer and thoughts.

    https://ai.google.dev/gemini-api/docs/function-calling
    """
    content = {"role": "model"} | ({"parts": parts} if parts else {})
    counts = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    usage = dict(zip(counts, tokens, strict=False))
    body = {
        "candidates": [{"content": content, "finishReason": reason, "index": 0}],
        "usageMetadata": usage | {"totalTokenCount": sum(tokens)},
        "modelVersion": "gemini-2.5-flash",
    }
    return nonsense(json.dumps(body).encode())


def gemini_shape(answer: str | None) -> Behaviour:
    """Return a reply with a thought part; None is cut off within it."""
    if answer is None:
        return gemini([], "MAX_TOKENS", (7, 3, 20))
    return gemini([{"text": THOUGHTS, "thought": True}, {"text": answer}], tokens=(7, 3, 20))
