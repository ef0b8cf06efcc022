"""How an example is put to a model, and where each kind of strategy has the answer put.

A strategy declares the place of the answer (`Strategy.answer_place`), and a dataset says what that
place means for it. By default the dataset's prompt stays the same, and the strategy tells the
model where to put the answer. The dataset's chain reads that place, and its metric scores it like a
plain reply. A dataset that differs declares an `AnswerForm` for each such place:

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
    """The pieces a prompt is assembled from (spec: torr.md section 4).

    `reference_instruction` takes the instruction's place in `reference` mode, where the
    published wording has a fault that `fixed` must not repeat. `reference_reply` is what a model
    is made to have said between instruction and source there, where the published scripts ask in
    turns.
    """

    instruction: str
    source: str
    target_prefix: str = ""
    reference_instruction: str | None = None
    reference_reply: str = ""


class ReplyForm(Protocol):
    """The form that a dataset's prompts ask of plain replies.

    Every score has the part `parse@1` then: whether the first reply had the form.
    """

    def is_met(self, reply: str) -> bool:
        """Return whether an answer is read in a reply."""
        ...

    def note(self, example: Example) -> str:
        """Return what is added to the question where it is asked again."""
        ...


AnswerPlace = Literal["reply", "line", "object", "printed", "box"]
"""Where a strategy has the answer put:

    reply: the reply is the answer, as the dataset's prompt asks for it (`direct`);
    line: behind `Final Answer:`, at the end of a reply (`treethinker`);
    object: the text of `answer` in a JSON object (`tcot`);
    printed: what a program prints (`pot`);
    box: a `\\boxed{}` behind text and programs (`icot`).
"""


@dataclass(frozen=True)
class AnswerForm:
    """What one way of asking means for a dataset. Every part has a default that fits most.

    Arguments:
        ask: what is put into that place, as it goes on behind "which is": `the number alone`.
        judged: `place`: what stands in the place; `reply`: all that the model wrote, for a metric
            that looks for its own marks in it. Where the answer itself is a program (a chart), this
            keeps `pot` from running it. In an object no mark is as it was written: `tcot` gives
            the text of `answer` all the same.
        chain: the post-processors; None: those of a plain reply. A chain that looks for a marker
            needs another here, for the place holds the answer alone.
        metric: None: the metric of a plain reply.
        prompt: makes the prompt's pieces; None: `Dataset.prompt`. For a dataset whose instruction
            asks for what cannot be in that place.
        system: the system message, in place of the strategy's; empty: there is none.
        remark: what stands behind the strategy's own system message.
        words: returns, for an example, texts that a strategy uses in place of its own, by name.
        note: what every run has to record of it, because scores are not those of a plain reply.
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
    """Turn one input into text: tables by the serializer, lists by comma and space, else str."""
    if isinstance(value, Table):
        return render(value)
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return str(value)
