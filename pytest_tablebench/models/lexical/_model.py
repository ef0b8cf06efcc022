"""The built-in model `tablebench/lexical`: it reads the prompt and answers by matching words."""

from __future__ import annotations

from pytest_tablebench.models.base import Reply, Request
from pytest_tablebench.models.lexical._answer import answer_question
from pytest_tablebench.models.lexical._find_table import FoundTable, find_table
from pytest_tablebench.models.lexical._loose import answer_loosely, bears_out_loosely
from pytest_tablebench.models.lexical._question import find_question
from pytest_tablebench.models.lexical._statement import bears_out

MARKER = "[Final Answer]:"

MAX_ANSWER = 1000
"""Longest answer in characters; a hostile cell can be as long as the prompt."""


class LexicalModel:
    """Answer table questions by word overlap: free, offline, deterministic, often wrong.

    It reads only `request.text`, as a language model would. So perturbing or re-serializing a
    table changes its answers. Its scores are a floor for comparison with models, and the examples
    use it.
    """

    sees = stored = False

    def complete(self, request: Request) -> Reply:
        """Answer one request; no text makes it fail."""
        prompt = request.text
        text = answer(prompt)
        return Reply(
            text=text,
            finish_reason="stop",
            prompt_tokens=len(prompt.split()),
            completion_tokens=len(text.split()),
            cost_usd=0.0,
        )


def answer(prompt: str) -> str:
    """Return the one-line answer to a prompt's last question about its last table.

    If the prompt asks for the marker, the answer follows it.
    """
    table = find_table(prompt)
    answer = _answer(prompt, table)
    asks = MARKER in prompt[: table.start] or MARKER in prompt[table.end :]
    return f"{MARKER} {answer}" if asks else answer


def _answer(prompt: str, table: FoundTable) -> str:
    question = find_question(prompt, table)
    loose = table.layout == "concat"
    tokens = table.rows[0] if loose and table.rows else ()
    if question.verdicts is not None:
        true = bears_out_loosely(question, tokens) if loose else bears_out(question, table)
        return question.verdicts[0 if true else 1]
    answer = answer_loosely(question, tokens) if loose else answer_question(question, table)
    # JSON can contain lone surrogates, which cannot be written to a file.
    clean = " ".join(answer[:MAX_ANSWER].encode("utf-8", "replace").decode().split())
    return clean or "unknown"
