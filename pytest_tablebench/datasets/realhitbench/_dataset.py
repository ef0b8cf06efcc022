"""The base class of RealHiTBench's datasets (spec: realhitbench.md sections 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.config.papers import filled, placeholders_in
from pytest_tablebench.datasets._dataset import (
    AnswerForm,
    AnswerPlace,
    PromptParts,
    Render,
    render_field,
)
from pytest_tablebench.datasets._example import Example, Stratum
from pytest_tablebench.datasets._file_dataset import FileDataset, Opened
from pytest_tablebench.datasets._source import RowSource
from pytest_tablebench.datasets.files import how_to_get
from pytest_tablebench.datasets.realhitbench._prompts import (
    CANNED,
    MARKER,
    form_name,
    form_of,
    instruction,
    reminder,
    tree_form,
)
from pytest_tablebench.datasets.realhitbench._rows import (
    LONG,
    QUESTIONS,
    RealHitQuestion,
    Tables,
    read_questions,
)
from pytest_tablebench.errors import DataMissing
from pytest_tablebench.metrics.realhit_numbers import has_decimal_commas
from pytest_tablebench.metrics.replies import read_reply
from pytest_tablebench.util.tokens import tokenizer_name

if TYPE_CHECKING:
    from pytest_tablebench.serializers.content import Content
    from pytest_tablebench.tables.table import Table

PLACES: tuple[AnswerPlace, ...] = ("line", "object", "printed", "box")
"""The answer places other than the whole reply."""


class FinalAnswer:
    """The form of replies: a marker precedes the answer."""

    def is_met(self, reply: str) -> bool:
        """Return whether a reply contains one of the markers."""
        return read_reply(reply).answer is not None

    def note(self, example: Example) -> str:
        """Return the reminder of the form for the kind of question."""
        return (
            f"\n\nYour last reply had no line that begins with `{MARKER}`. Answer again. "
            f"{example.inputs['reminder']}"
        )


class RealHit(FileDataset[RealHitQuestion], section="realhitbench"):
    """One kind of question, each about one hierarchical table.

    In `reference` mode, an unperturbed table is sent as upstream's own file in the serializer's
    format. In `fixed` mode, the serializer renders the table of the HTML file. Both modes send
    upstream's pictures.

    Arguments:
        name: the dataset's name, without `_long`.
        kind: upstream's `QuestionType`.
        long: whether the tables are upstream's oversized ones, which are a separate benchmark.
    """

    reply_form = FinalAnswer()
    instruction = "{instruction}"
    typed = False

    def __init__(self, name: str, kind: str, *, long: bool = False) -> None:
        self.name = f"{name}_long" if long else name
        self.benchmark = "realhitbench_long" if long else "realhitbench"
        self.kind = kind
        self.test = (LONG if long else QUESTIONS,)
        # The strategy tells the model where to put the answer, so the prompt asks for no marker.
        forms = dict.fromkeys(PLACES, AnswerForm(prompt=self._unmarked_prompt))
        self.answer_forms = forms | {"line": AnswerForm(prompt=self._tree_prompt)}

    def reading(self, compat: Compat) -> tuple[str, ...]:
        """Return the post-processor that finds the answer after the marker.

        Without a marker, the answer is the whole reply in `reference` mode and empty in `fixed`.
        """
        return (f"realhit_answer_or_{'reply' if compat == 'reference' else 'nothing'}",)

    def open(
        self, folder: Path, *, compat: Compat = "fixed", **options: Any
    ) -> RowSource[RealHitQuestion]:
        """Open the upstream files at `folder`. Raises `DataMissing` or `DataError`."""
        file = self.test[0]
        if file == LONG and (folder / QUESTIONS).is_file() and not (folder / file).is_file():
            # The file of long tables is optional.
            raise DataMissing(f"{folder} lacks {file}; {how_to_get(self.fetch, folder)}")
        return super().open(folder, compat=compat, **options)

    def as_given(self, opened: Opened) -> Callable[[Table, str], Content | None]:
        """Return the function that reads upstream's own files; in `fixed` mode only pictures."""
        return partial(Tables(opened.folder).as_given, texts=opened.compat == "reference")

    def notes_of(self, compat: Compat) -> tuple[str, ...]:
        """Return notes on how unperturbed tables are sent, and how their size is measured."""
        sent = "upstream's own files" if compat == "reference" else "this package writes them"
        return (
            f"unperturbed tables are sent as {sent}",
            "the size and the tokens of a table are measured on its LaTeX file, tokens counted by "
            f"{tokenizer_name()}",
        )

    def rows(self, opened: Opened, files: tuple[str, ...]) -> Iterable[RealHitQuestion]:
        """Read the usable rows of the dataset's kind."""
        return read_questions(opened, files[0], self.kind, Tables(opened.folder))

    def example(self, row: RealHitQuestion) -> Example:
        """Make the example of a row."""
        form = form_of(row.kind, row.subtype)
        table = row.tables.read(row.file, typed=self.typed)
        cells = (cell for line in table.rows for cell in line)
        return Example(
            id=row.id,
            inputs={
                "table": table,
                "question": row.text,
                "instruction": instruction(form),
                "reminder": reminder(form, row.compat),
                "tree_instruction": instruction(tree_form(form, row.compat), marked=False),
            },
            question=row.text,
            context={"question": row.text, "decimal_comma": has_decimal_commas(cells)},
            references=(row.answer,),
            target=row.answer,
            tags=row.tags,
        )

    def stratum(self, row: RealHitQuestion) -> Stratum | None:
        """Return the stratum: sub-type and structure as its tags, and the table's file."""
        return Stratum((row.subtype, row.tags.get("structure")), row.file)

    def _tree_prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt's pieces with the instruction of TreeThinker's last question."""
        parts = self._unmarked_prompt(example, render)
        return replace(parts, instruction=str(example.inputs["tree_instruction"]))

    def worded(self, place: AnswerPlace, form: AnswerForm, texts: Mapping[str, str]) -> AnswerForm:
        """Return the form with the printed prompts: TreeThinker's for a line, else for a reply."""
        if place == "reply":
            return replace(form, prompt=partial(self._printed_prompt, texts))
        return replace(form, words=partial(self._tree_words, texts)) if place == "line" else form

    def _printed_prompt(
        self, texts: Mapping[str, str], example: Example, render: Render
    ) -> PromptParts:
        """Return the prompt's pieces with the printed prompt, if there is one.

        With placeholders it is the whole prompt, otherwise the instruction.
        """
        parts, text = self.prompt(example, render), texts.get(self._printed_name(example))
        if text is None:
            return parts
        shown = {name: render_field(value, render) for name, value in example.inputs.items()}
        if placeholders_in(text):
            return PromptParts("", filled(text, shown))
        return replace(parts, instruction=filled(text, {}))

    def _tree_words(self, texts: Mapping[str, str], example: Example) -> Mapping[str, str]:
        """Return the printed prompts of TreeThinker's two rounds for an example."""
        words = {}
        if "treethinker_tree" in texts:
            words["tree"] = texts["treethinker_tree"]
        if (task := texts.get(f"treethinker_{self._printed_name(example)}")) is not None:
            question = str(example.inputs["question"])
            prompt = filled(task, {"question": question})
            words["task"] = prompt if placeholders_in(task) else f"{prompt}\n\nQuestion: {question}"
        return words

    def _printed_name(self, example: Example) -> str:
        name = form_name(self.kind, example.tags.get("subtype", ""))
        return name.lower().replace(" ", "_")

    def _unmarked_prompt(self, example: Example, render: Render) -> PromptParts:
        parts = self.prompt(example, render)
        form = form_of(self.kind, example.tags.get("subtype", ""))
        source = parts.source.removesuffix(f"\n\nOutput: {example.inputs['reminder']}")
        return PromptParts(instruction(form, marked=False), source)

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt's pieces: the instruction for the kind, then table and question."""
        return replace(super().prompt(example, render), reference_reply=CANNED)
