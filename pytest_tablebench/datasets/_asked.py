"""A dataset combined with an answer place: its prompts, and how its answers are scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._dataset import Dataset
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._prompts import (
    AnswerForm,
    AnswerPlace,
    PromptParts,
    Render,
    ReplyForm,
)


@dataclass(frozen=True)
class AskedDataset:
    """A dataset whose answers are in one place: its prompts and scoring."""

    dataset: Dataset
    place: AnswerPlace = "reply"
    form: AnswerForm = field(default_factory=AnswerForm)

    @property
    def metric(self) -> str | None:
        """The metric that scores the answers; None if the tests alone decide."""
        return self.form.metric or self.dataset.metric

    @property
    def part(self) -> str | None:
        """The part of the metric that is the score; None for the metric's own choice."""
        return self.dataset.part if self.form.metric is None else None

    def about(self, example: Example | None) -> AskedDataset:
        """Return this dataset with the metric of an example, if the example names one."""
        if example is None or example.metric is None:
            return self
        return replace(self, form=replace(self.form, metric=example.metric))

    @property
    def several(self) -> bool:
        """Whether a case asks several questions and its answer is a list."""
        return self.dataset.has_versions

    @property
    def reply_form(self) -> ReplyForm | None:
        """The required form of plain replies; None if the answer is in another place."""
        return self.dataset.reply_form if self.is_plain else None

    def reading(self, compat: Compat) -> tuple[str, ...]:
        """Return the post-processors that find the answer in a plain reply."""
        return self.dataset.reading(compat) if self.is_plain else ()

    @property
    def is_plain(self) -> bool:
        """Whether the whole reply is judged, not one place in it."""
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
    """Return a dataset whose answers are in a place; `texts` are printed prompts by name."""
    form = dataset.answer_forms.get(place, AnswerForm())
    if texts:
        form = dataset.worded(place, form, texts)
    return AskedDataset(dataset, place, form)
