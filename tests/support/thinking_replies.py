"""Replies of thinking models in the shapes of several servers.

The sources are the providers' public documentation of chat completions, messages and
generateContent, and the chat templates of the models.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.openai_server import Behaviour, nonsense

THOUGHTS = "The table has two rows. So 5 and no."


def _completion(message: dict[str, Any], finish_reason: str, **usage: Any) -> Behaviour:
    counts = {"prompt_tokens": 7, "completion_tokens": 30, "total_tokens": 37, **usage}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "test-model",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", **message},
            }
        ],
        "usage": counts,
    }
    return nonsense(json.dumps(body).encode())


def _reasoning(count: int) -> dict[str, Any]:
    return {"completion_tokens_details": {"reasoning_tokens": count}}


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
    return _completion(messages[style], "stop", **_reasoning(20))


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
    return _completion(messages[style], "length", **_reasoning(30))


STYLES = (
    *("deepseek-r1", "qwen3", "qwen3, not thinking", "deepseek api", "vllm parser"),
    *("newer vllm", "gpt-oss", "magistral", "magistral api", "o-series"),
)
CUT_STYLES = ("deepseek-r1", "deepseek api", "vllm parser", "gpt-oss", "magistral", "o-series")


def claude_shape(answer: str | None) -> Behaviour:
    """Return a message of Anthropic's API with a thinking block; None is cut off within it."""
    thinking = {"type": "thinking", "thinking": THOUGHTS, "signature": "c2ln"}
    content = [thinking] if answer is None else [thinking, {"type": "text", "text": answer}]
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": content,
        "stop_reason": "max_tokens" if answer is None else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 30},
    }
    return nonsense(json.dumps(body).encode())


def gemini_shape(answer: str | None) -> Behaviour:
    """Return a reply of Gemini's API with a thought part; None is cut off within it."""
    parts = [{"text": THOUGHTS, "thought": True}]
    if answer is not None:
        parts.append({"text": answer})
    content: dict[str, Any] = {"role": "model"}
    if answer is not None:
        content["parts"] = parts
    body = {
        "candidates": [
            {
                "content": content,
                "finishReason": "MAX_TOKENS" if answer is None else "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 7,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 20,
            "totalTokenCount": 30,
        },
        "modelVersion": "gemini-2.5-flash",
    }
    return nonsense(json.dumps(body).encode())
