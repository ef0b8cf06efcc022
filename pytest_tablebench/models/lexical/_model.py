"""The built-in model `tablebench/lexical`: it reads the prompt and answers by matching words."""

from __future__ import annotations

from pytest_tablebench.models.base import Reply, Request
from pytest_tablebench.models.lexical._guess import guess, next_word, number_text, supports
from pytest_tablebench.models.lexical._prompt import PromptTable, find_question, find_table
from pytest_tablebench.models.lexical.rules import derive

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
    shown = find_table(prompt)
    answer = _answer(prompt, shown)
    asks = MARKER in prompt[: shown.start] or MARKER in prompt[shown.end :]
    return f"{MARKER} {answer}" if asks else answer


def _answer(prompt: str, shown: PromptTable) -> str:
    question = find_question(prompt, shown)
    if question.verdicts is not None:
        is_true = shown.table is not None and supports(question.text, shown.table)
        return question.verdicts[0 if is_true else 1]
    if shown.table is None:
        answer = next_word(question.text, shown.words)
    else:
        derived = derive(question.text, shown.table)
        if derived is None:
            answer = guess(question.text, shown.table)
        elif derived.rule in ("sum", "mean") and derived.number is not None:
            answer = number_text(derived.number)
        else:
            answer = derived.answer
    # JSON can contain lone surrogates, which cannot be written to a file.
    clean = " ".join(answer[:MAX_ANSWER].encode("utf-8", "replace").decode().split())
    return clean or "unknown"
