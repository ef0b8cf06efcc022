"""The pieces of prompts, and the places of answers.

A strategy declares the place of the answer (`Strategy.answer_place`). By default the dataset's
prompt stays the same, and the strategy tells the model where to put the answer. The dataset's chain
processes the text in that place, and its metric scores it like a plain reply. A dataset that needs
other prompts or another scoring declares an `AnswerForm` for each such place:

    class FinQA(...):
        answer_forms = {
            "printed": AnswerForm("the number, or yes or no", chain=(...), metric="fin_qa_value"),
        }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pytest_tablebench.datasets._example import Example
from pytest_tablebench.tables.table import Table

Render = Callable[[Table], str]


@dataclass(frozen=True)
class PromptParts:
    """The pieces of a prompt (spec: torr.md section 4).

    In `reference` mode, `reference_instruction` replaces an instruction whose published wording has
    a fault. There, `reference_reply` is the model's turn between instruction and source, for
    published scripts that ask in turns.
    """

    instruction: str
    source: str
    target_prefix: str = ""
    reference_instruction: str | None = None
    reference_reply: str = ""


class ReplyForm(Protocol):
    """The form that a dataset's prompts require of plain replies.

    Each score then has the part `parse@1`: whether the first reply had the form.
    """

    def is_met(self, reply: str) -> bool:
        """Return whether a reply has the form."""
        ...

    def note(self, example: Example) -> str:
        """Return the reminder that is added when the question is asked again."""
        ...


AnswerPlace = Literal["reply", "line", "object", "printed", "box"]
"""The place of the answer:

    reply: the whole reply, in the form that the dataset's prompt asks for (`direct`);
    line: after `Final Answer:`, at the end of a reply (`treethinker`);
    object: the value of `answer` in a JSON object (`tcot`);
    printed: the output of a program (`pot`);
    box: a `\\boxed{}` after text and programs (`icot`).
"""


@dataclass(frozen=True)
class AnswerForm:
    """How a dataset asks for and scores answers in one place.

    Arguments:
        ask: describes the content of the place; the prompt continues "which is" with it.
        judged: `place` to judge the text in the place, `reply` to judge the whole reply, for a
            metric that searches it for a marker. With `reply`, `pot` does not run a program that
            is itself the answer (a chart), and `tcot` still returns the value of `answer`.
        chain: the post-processors; None for the chain of a plain reply. The place contains the
            answer alone, so a chain that searches for a marker does not fit.
        metric: the metric; None for the metric of a plain reply.
        prompt: makes the prompt's pieces, if the dataset's instruction does not suit the place;
            None for `Dataset.prompt`.
        system: replaces the strategy's system message; "" for no system message.
        remark: text after the strategy's system message.
        words: returns, for an example, texts that replace the strategy's own, by name.
        note: a note that every run records, because scores differ from those of plain replies.
    """

    ask: str = "the answer alone, in the form that the task asks for"
    judged: Literal["place", "reply"] = "place"
    chain: tuple[str, ...] | None = None
    metric: str | None = None
    prompt: Callable[[Example, Render], PromptParts] | None = None
    system: str | None = None
    remark: str = ""
    words: Callable[[Example], Mapping[str, str]] | None = None
    note: str | None = None


def render_field(value: Any, render: Render) -> str:
    """Return an input as text: tables by `render`, list items joined by comma and space."""
    if isinstance(value, Table):
        return render(value)
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return str(value)
