"""How a dataset's answer is asked for by each kind of strategy, and what goes into its metric.

A strategy declares where it has the model put the answer (`Strategy.answer_place`), and a dataset
what that means for it. By default the dataset's prompt stays the same, and the strategy tells the
model where to put the answer. The dataset's chain reads that place, and its metric scores it like a
plain reply. A dataset that differs declares an `AnswerForm` for each such place:

    class FinQA(...):
        answer_forms = {
            "printed": AnswerForm("the number, or yes or no", chain=(...), metric="fin_qa_value"),
        }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._base import (
    Dataset,
    Example,
    PromptParts,
    Render,
    ReplyForm,
    metric_of,
)
from pytest_tablebench.datasets._defaults import defaults_of

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


_USUAL = AnswerForm()


@dataclass(frozen=True)
class AskedDataset:
    """A dataset with its answers in one place: makes prompts, and says how answers are scored."""

    dataset: Dataset
    place: AnswerPlace = "reply"
    form: AnswerForm = field(default_factory=AnswerForm)

    @property
    def metric(self) -> str | None:
        """The metric that scores the answers; None: tests alone do."""
        return self.form.metric or metric_of(self.dataset)

    @property
    def part(self) -> str | None:
        """The number of its metric that the dataset says is the score; None: the metric says."""
        if self.form.metric is not None or getattr(self.dataset, "part", None) is None:
            return None
        return defaults_of(self.dataset).part

    def about(self, example: Example | None) -> AskedDataset:
        """Return it as it asks an example, which may name a metric of its own."""
        if example is None or example.metric is None:
            return self
        return replace(self, form=replace(self.form, metric=example.metric))

    @property
    def several(self) -> bool:
        """Whether a case is several questions, and its answer a list."""
        return hasattr(self.dataset, "versions")

    @property
    def reply_form(self) -> ReplyForm | None:
        """The form of plain replies; None where the answer stands in another place."""
        return getattr(self.dataset, "reply_form", None) if self.is_plain else None

    def reading(self, compat: Compat) -> tuple[str, ...]:
        """Return the post-processors that find the answer in a reply, where it is a plain one."""
        find: Callable[[Compat], tuple[str, ...]] | None = getattr(self.dataset, "reading", None)
        return find(compat) if find is not None and self.is_plain else ()

    @property
    def is_plain(self) -> bool:
        """Whether the whole reply is judged, not what is in one place of it."""
        return self.place == "reply" or self.form.judged == "reply"

    def chain(self, compat: Compat) -> tuple[str, ...]:
        """Return the post-processors applied, in order, to answers and references."""
        return self.dataset.chain(compat) if self.form.chain is None else self.form.chain

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt's pieces."""
        return (self.form.prompt or self.dataset.prompt)(example, render)


def asked_dataset(
    dataset: Dataset, place: AnswerPlace, texts: Mapping[str, str] | None = None
) -> AskedDataset:
    """Return a dataset whose answers are in a place, with the words of printed prompts if any.

    A dataset uses printed prompts by its method `worded(place, form, texts)`, which returns
    the form with the words that fit.
    """
    forms: Mapping[AnswerPlace, AnswerForm] = getattr(dataset, "answer_forms", None) or {}
    form = forms.get(place) or _USUAL
    worded: Callable[[AnswerPlace, AnswerForm, Mapping[str, str]], AnswerForm] | None
    worded = getattr(dataset, "worded", None)
    if texts and worded is not None:
        form = worded(place, form, texts)
    return AskedDataset(dataset, place, form)
