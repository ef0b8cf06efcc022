"""The seam between a prompt and what is done about it.

The strategies that come with the package, and how a dataset takes part in each:

    direct: the prompt is asked; the reply is the answer.
    tcot: thought and answer in a JSON object; the table in the formats of the run.
    pot: a program whose output is the answer. icot: text and programs in turn, then a box.
    treethinker: the model draws the table's header tree, and answers by it.

`pot` and `icot` show a table in one format of their own, `frame`: where an option names them, the
format axis is that alone. Parameters are in brackets: `icot[max_exec=3]`. What the answer is in
each of them, and how it is scored, is for the dataset to say (`datasets/_answer_forms.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import AnswerForm, AnswerPlace, Example
from pytest_tablebench.errors import SettingsError, UnknownNameError
from pytest_tablebench.metrics.steps import Ask, Execution, Step
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.serializers import Content
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.calls import parse_call
from pytest_tablebench.util.names import printable, unknown_name


@dataclass(frozen=True)
class Said:
    """What a conversation came to.

    Arguments:
        text: what is judged.
        flags: facts about the conversation, which records and reports show.
        parts: named numbers in addition to the score: finite, the higher the better.
        drawn: what the strategy made of the model's words, as lines of text for people.
        raw: the reply with its thoughts, if `text` is a reply without them; else None.
        facts: values that were read from single replies, by the place of their question (from 0).
            They are JSON, and records keep them with the step.
    """

    text: str
    flags: tuple[str, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    drawn: str = ""
    raw: str | None = None
    facts: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)


Conversation = Generator[Step, Reply | Execution, str | Said]
"""Yields steps, receives the outcome of each, and returns the text to judge, or `Said`.

In `fixed` the text of each reply is the answer without the model's thoughts; in `reference` it is
the whole reply, as the published code reads it.

Where a model refuses a question (`bad_request`), its `ModelError` is raised at the step.

A plain question is one step; two are a tree and then an answer; a loop runs programs between its
questions. The driver (a call, an executor with hundreds in flight) does not depend on this.
"""

Show = Callable[[Table], Content]
"""How a table is shown in a prompt."""


@dataclass(frozen=True)
class Task:
    """What a strategy is given.

    Arguments:
        example: as the model is asked it: perturbed.
        prompt: instruction, demonstrations and question, with the table as the format shows it.
        compat: `fixed`, or `reference` for the published code to the letter.
        params: the strategy's own parameters, by name, as its readers return them.
        form: how the dataset has its answer asked for in the strategy's way.
        show: shows a table in the format of the case.
        write: makes the prompt once more, with the question's own tables shown otherwise.
        versions: where a case is several questions the task of each; this one is for all of them.
        serializer: the format's name.
        continues: whether the model continues an unfinished turn of its own; None if unknown.
        turns: the messages of a plain question, where they are not the prompt alone.
    """

    example: Example
    prompt: Content
    compat: Compat = "fixed"
    params: Mapping[str, Any] = field(default_factory=dict)
    form: AnswerForm = field(default_factory=AnswerForm)
    show: Show | None = None
    write: Callable[[Show], Content] | None = None
    versions: tuple[Task, ...] = ()
    serializer: str = ""
    continues: bool | None = None
    turns: tuple[Message, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of a plain question."""
        return self.turns or (Message("user", self.prompt),)

    def rewritten(self, show: Show) -> Content:
        """Return the prompt with the question's own tables shown otherwise."""
        return self.prompt if self.write is None else self.write(show)

    def shown(self, table: Table) -> Content:
        """Return a table in the format of the case."""
        if self.show is None:
            raise TypeError("this task shows no table")
        return self.show(table)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The example's tables, in the order of its inputs."""
        return tuple(value for value in self.example.inputs.values() if isinstance(value, Table))


class Strategy(Protocol):
    """How one task becomes an answer.

    `name` is used in options, keys and records. `converse` must do nothing slow by itself: that
    is what its steps are for. It may say in `rounds` how many questions its conversations have: a
    number, or a function of the parameters that returns the least and the most. With one alone the
    plan of a run prices all of it.

    Further attributes that one may have:

    - `answer_place`: where it has the answer put (see `datasets/_answer_forms.py`); by default
      `reply`.
    - `parameters`: by name, a function that reads a value (a literal or a bare word) and raises
      `ValueError` saying what it takes; without it there are none.
    - `serializer`: the one format in which it shows tables, whatever the run names.
    - `measures`: the names of the parts that its answers may have (`Said.parts`).
    """

    name: str

    def converse(self, task: Task) -> Conversation:
        """Start the conversation about a task."""
        ...


def named_strategy(
    text: str, strategies: Mapping[str, Strategy]
) -> tuple[Strategy, Mapping[str, Any]]:
    """Return what `name` or `name[parameter=value,…]` means: a strategy and its parameters.

    Raises `SettingsError` for an unknown name, parameter or value.
    """
    if text in strategies:
        return strategies[text], {}
    if "[" not in text:
        raise UnknownNameError(unknown_name("strategy", text, strategies))
    try:
        name, arguments = parse_call("strategy", text, words=True)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    if name not in strategies:
        raise UnknownNameError(unknown_name("strategy", name, strategies))
    readers: Mapping[str, Callable[[Any], Any]] = getattr(strategies[name], "parameters", {})
    params = {}
    for key, value in arguments.items():
        if key not in readers:
            problem = unknown_name("parameter", key, readers) if readers else "it has no parameters"
            raise SettingsError(f"strategy {name!r}: {problem}")
        try:
            params[key] = readers[key](value)
        except (TypeError, ValueError) as error:
            shown = printable(repr(value), 40)
            raise SettingsError(f"strategy {name!r}: {key} {error}, not {shown}") from None
    return strategies[name], params


def answer_place(text: str, strategies: Mapping[str, Strategy]) -> AnswerPlace:
    """Return where a strategy has the answer put; `reply` for one that is not registered here."""
    place: AnswerPlace = getattr(
        strategies.get(text.partition("[")[0].strip()), "answer_place", "reply"
    )
    return place


def rounds_of(text: str, strategies: Mapping[str, Strategy]) -> tuple[int, int] | None:
    """Return how many questions a strategy asks a model at least and at most; None: unknown."""
    strategy, params = named_strategy(text, strategies)
    declared: Any = getattr(strategy, "rounds", None)
    if callable(declared):
        least, most = declared(params)
        return int(least), int(most)
    return None if declared is None else (int(declared), int(declared))


def at_least(least: float, kind: type[int] | type[float] = int) -> Callable[[Any], Any]:
    """Return a reader of numbers from `least` on, for a strategy's `parameters`."""

    def read(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | kind) or value < least:
            description = "a whole number" if kind is int else "a number"
            raise ValueError(f"must be {description} from {least:g} on")
        return kind(value)

    return read


def the_reply(outcome: Reply | Execution) -> Reply:
    """Return what a question was answered by."""
    if not isinstance(outcome, Reply):
        raise TypeError("a question was answered by a program")
    return outcome


def system_message(form: AnswerForm, instruction: str) -> tuple[Message, ...]:
    """Return a strategy's system message as a dataset has it: `own`, or the dataset's."""
    text = instruction if form.system is None else form.system
    text = f"{text}\n{form.remark}" if text and form.remark else text or form.remark
    return (Message("system", text),) if text else ()


class Direct:
    """One request: the prompt, or the turns that a dataset makes of it; the reply is the answer."""

    name = "direct"
    rounds = 1

    def converse(self, task: Task) -> Conversation:
        """Ask once."""
        reply = the_reply((yield Ask(task.messages)))
        return reply.text
