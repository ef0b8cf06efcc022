"""One value or more for each parameter that is sent without litellm's client."""

from __future__ import annotations

from typing import Any

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "query",
        "description": "Run SQL.",
        "parameters": {
            "type": "object",
            "properties": {"sql": {"type": "string", "description": "A query."}},
            "required": ["sql"],
        },
    },
}

PARAMS: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": 1},
    "top_p": {"top_p": 0.5},
    "max_tokens": {"max_tokens": 64},
    "max_completion_tokens": {"max_completion_tokens": 64},
    "seed": {"seed": 7},
    "stop": {"stop": ["\n", "Q:"]},
    "presence_penalty": {"presence_penalty": 0.5},
    "frequency_penalty": {"frequency_penalty": -0.5},
    "logit_bias": {"logit_bias": {"50256": -100}},
    "logprobs": {"logprobs": True},
    "top_logprobs": {"logprobs": True, "top_logprobs": 3},
    "response_format": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "a", "schema": {"type": "object", "properties": {}}},
        }
    },
    "reasoning_effort": {"reasoning_effort": "low"},
    "verbosity": {"verbosity": "low"},
    "user": {"user": "bench"},
    "service_tier": {"service_tier": "flex"},
    "top_k": {"top_k": 40},
    "min_p": {"min_p": 0.1},
    "repetition_penalty": {"repetition_penalty": 1.1},
    "chat_template_kwargs": {"chat_template_kwargs": {"enable_thinking": False}},
    "thinking": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    "extra_body": {"extra_body": {"guided_choice": ["yes", "no"]}, "top_k": 3},
    "extra_headers": {"extra_headers": {"X-Team": "tables", "OpenAI-Beta": "x=1"}},
    "tools": {"tools": [TOOL]},
    "the usual": {"temperature": 0, "max_tokens": 512},
    "none": {},
}
