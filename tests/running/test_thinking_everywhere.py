"""Thoughts change no answer: every dataset in every strategy, through the chain that scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_tablebench import Table
from pytest_tablebench.metrics.steps import Execute, Execution
from pytest_tablebench.models import Reply
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.scorer import Scorer, asked_by, converses
from pytest_tablebench.strategies import Said, asked_about
from tests.strategies.driving import task
from tests.support.thinking_replies import THOUGHTS

TABLE = Table(["Name", "Age"], [["Ada", "36"], ["Bo", "41"]])
DRAFT = f"{THOUGHTS} ```python\nprint(0)\n``` \\boxed{{0}} Final Answer: 0 ```json\n{{}}\n```"
"""Thoughts that hold an answer in every form, and none of them is the model's answer."""

STYLES: dict[str, Callable[[str], Reply]] = {
    "think": lambda text: Reply(f"<think>\n{DRAFT}\n</think>\n\n{text}"),
    "opened in the prompt": lambda text: Reply(f"{DRAFT}\n</think>\n\n{text}"),
    "magistral": lambda text: Reply(f"[THINK]{DRAFT}[/THINK]{text}"),
    "gpt-oss": lambda text: Reply(
        f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final"
        f"<|message|>{text}<|return|>"
    ),
    "two blocks": lambda text: Reply(
        f"<thinking>{DRAFT}</thinking>\n<reflection>{DRAFT}</reflection>\n{text}"
    ),
    "a field": lambda text: Reply(f"\n\n{text}", thinking=DRAFT),
}
BLOCK = "Look it up.\n```python\nprint(41)\n```\n"
REPLIES: dict[str, tuple[str, ...]] = {
    "direct": ("{answer}",),
    "tcot": ('```json\n{{"thought": "row 2", "answer": {json}}}\n```',),
    "pot": (BLOCK,),
    "icot": (BLOCK, "It is \\boxed{{{answer}}}."),
    "treethinker": ("(C0, 1, 1, Name)\n(C1, 2, 2, Age)", "So.\nFinal Answer: {answer}"),
}
ANSWERS = {
    "tabfact": "entailed",
    "realhit": "[Final Answer]: 41",
    "tablebench": "Final Answer: 41",
    "finqa": "add(36, 5)",
}
FINQA: dict[str, Any] = {"table": TABLE, "exe_ans": 41.0, "answer": "41"}
"""What its metric needs beside the texts."""


def conversation(name: str, strategy: str, make: Callable[[str], Reply]) -> tuple[Said, list[str]]:
    """Return what a strategy makes of a model's replies, and the texts that it sends."""
    registry = builtin_registry()
    asked = asked_by(registry, name, strategy)
    given = replace(task(TABLE), form=asked.form)
    answer = next((ANSWERS[key] for key in ANSWERS if name.startswith(key)), "41")
    texts = [text.format(answer=answer, json=json.dumps(answer)) for text in REPLIES[strategy]] * (
        2 if asked.several else 1
    )
    steps = asked_about(registry.strategies[strategy], [given] * (2 if asked.several else 1))
    sent: list[str] = []
    outcome: Any = None
    try:
        while True:
            step = steps.send(outcome)
            if isinstance(step, Execute):
                sent.append(step.program)
                outcome = Execution("ok", f"{answer}\n")
            else:
                sent += [str(message.content) for message in step.messages]
                outcome = make(texts.pop(0))
    except StopIteration as end:
        return end.value, sent


@pytest.mark.parametrize("strategy", REPLIES)
def test_the_answer_and_its_score_are_those_without_thoughts(strategy: str) -> None:
    registry = builtin_registry()
    scorer, wrong, scored = Scorer(registry), [], 0
    for name in registry.datasets:
        asked = asked_by(registry, name, strategy)
        plain, sent = conversation(name, strategy, Reply)
        references = [next((ANSWERS[key] for key in ANSWERS if name.startswith(key)), "41")]
        read = scorer.texts(asked, plain.text, references)
        metric = str(asked.metric)
        # What a judge or a program scores, and rules of an example, need more than two texts.
        is_scored = not (converses(registry.metrics.get(metric)) or asked.several)
        is_scored &= metric != "treb_instruction"
        context = FINQA if name.startswith("finqa") else {}
        for style, make in STYLES.items():
            thought, thought_sent = conversation(name, strategy, make)
            same = (thought.text, thought.flags, thought_sent) == (plain.text, plain.flags, sent)
            # What records keep is the whole reply, which is read the same once more.
            kept = thought.text if thought.raw is None else thought.raw
            same &= scorer.texts(asked, kept, references) == read
            if strategy == "direct" and not asked.several:
                assert kept.endswith(make(plain.text).written)
            if is_scored:
                first, second = (
                    scorer.score_text(asked, text, references, **context)
                    for text in (plain.text, kept)
                )
                scored += 1
                same &= first == second
            if not same:
                wrong.append((name, style, thought))
    assert wrong == []
    assert scored > 100


def test_in_reference_the_strategies_read_the_whole_reply() -> None:
    registry = builtin_registry()
    given = task(TABLE, compat="reference")
    steps = asked_about(registry.strategies["direct"], [given])
    next(steps)
    with pytest.raises(StopIteration) as ended:
        steps.send(Reply("<think>hm</think>Italy"))
    assert (ended.value.value.text, ended.value.value.raw) == ("<think>hm</think>Italy", None)
