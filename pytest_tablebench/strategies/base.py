"""The protocol of strategies, which turn a prompt into model requests and an answer.

The built-in strategies:

    direct: one request with the prompt; the reply is the answer.
    tcot: one request for a JSON object with thought and answer.
    pot: one request for a program, whose output is the answer.
    icot: text and programs in turn; the answer is in a box.
    treethinker: the model draws the table's header tree, and then answers with its help.
    tools: the model sees only the columns, calls tools over the tables, and then answers.

`pot` and `icot` always show tables in the format `frame`, and `tools` in the format `columns`, so
with them a run has no other serializer. Parameters are in brackets: `icot[max_exec=3]`. The dataset
defines the content of the answer and its scoring for each strategy (`datasets/_dataset.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import AnswerForm, AnswerPlace, Example
from pytest_tablebench.errors import SettingsError, UnknownNameError
from pytest_tablebench.metrics.steps import Ask, Step
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.serializers import Content
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import printable, unknown_name
from pytest_tablebench.util.signatures import parse_call


@dataclass(frozen=True)
class Said:
    """The result of a conversation.

    Arguments:
        text: the text that is scored.
        flags: facts about the conversation, which records and reports show.
        parts: named numbers in addition to the score: finite, higher is better.
        drawn: the strategy's reading of the replies, such as the header tree, as readable lines.
        raw: the reply with its thoughts, if `text` is a reply without them; else None.
        facts: values from single replies, by the position of their question, from 0. They are JSON,
            and records keep them with the step.
    """

    text: str
    flags: tuple[str, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    drawn: str = ""
    raw: str | None = None
    facts: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)


Conversation = Generator[Step, Any, str | Said]
"""A generator that yields steps and returns a text or `Said`.

It receives a `Reply` for each question, and an `Execution` for each program.

In `fixed` the text of a reply does not include the model's thoughts. In `reference` it is the whole
reply, as the published code reads it. If a model refuses a question (`bad_request`), the
`ModelError` is raised at the step.

A conversation may have any number of steps, and run programs between its questions. The driver (a
single call, or an executor with hundreds of requests in flight) does not depend on this.
"""

Show = Callable[[Table], Content]
"""Returns a table as content of a prompt."""


@dataclass(frozen=True)
class Task:
    """The input of a strategy.

    Arguments:
        example: the example after the perturbation.
        prompt: instruction, demonstrations and question, with tables in the case's format.
        compat: `fixed`, or `reference` to behave exactly like the published code.
        params: the strategy's parameters, by name, as its readers return them.
        form: the dataset's answer form for the strategy's answer place.
        show: returns a table in the format of the case.
        write: returns the prompt again, with the question's tables shown by another function.
        versions: the task of each question, if the case has several; this one is for all of them.
        serializer: the name of the case's format.
        continues: whether the model can continue its own unfinished turn; None if unknown.
        turns: the messages of a plain question, if they are more than the prompt.
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
        """Return the prompt with the question's tables shown by `show`."""
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
    """Converts a task to model requests and an answer.

    `name` is used in options, keys and records. `converse` must do nothing slow itself; slow work
    is done by its steps.

    Optional attributes:

    - `rounds`: the number of questions in a conversation, or a function from the parameters to the
      smallest and the largest number. The plan of a run prices a conversation of one question
      completely.
    - `answer_place`: where the model writes the answer (see `datasets/_dataset.py`); by
      default `reply`.
    - `parameters`: a mapping from names to functions. Each reads a value (a literal or a bare
      word), and raises `ValueError` with the valid values.
    - `serializer`: the only format in which it shows tables, regardless of the run's formats.
    - `measures`: the names of the parts that its answers may have (`Said.parts`).
    """

    name: str

    def converse(self, task: Task) -> Conversation:
        """Return the conversation about a task."""
        ...


def named_strategy(
    text: str, strategies: Mapping[str, Strategy]
) -> tuple[Strategy, Mapping[str, Any]]:
    """Return the strategy and parameters of `name` or `name[parameter=value,…]`.

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
            problem = (
                unknown_name("parameter", key, readers)
                if readers
                else f"it takes no parameters; remove {printable(key)!r}"
            )
            raise SettingsError(f"strategy {name!r}: {problem}")
        try:
            params[key] = readers[key](value)
        except (TypeError, ValueError) as error:
            label = printable(repr(value), 40)
            raise SettingsError(f"strategy {name!r}: {key} {error}, not {label}") from None
    return strategies[name], params


def answer_place(text: str, strategies: Mapping[str, Strategy]) -> AnswerPlace:
    """Return a strategy's answer place; `reply` for an unknown strategy."""
    kind: AnswerPlace = getattr(
        strategies.get(text.partition("[")[0].strip()), "answer_place", "reply"
    )
    return kind


def rounds_of(text: str, strategies: Mapping[str, Strategy]) -> tuple[int, int] | None:
    """Return the smallest and largest number of a strategy's questions; None if unknown."""
    strategy, params = named_strategy(text, strategies)
    declared: Any = getattr(strategy, "rounds", None)
    if callable(declared):
        least, most = declared(params)
        return int(least), int(most)
    return None if declared is None else (int(declared), int(declared))


def at_least(least: float, kind: type[int] | type[float] = int) -> Callable[[Any], Any]:
    """Return a reader of numbers that are at least `least`, for a strategy's `parameters`."""

    def read(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | kind) or value < least:
            description = "a whole number" if kind is int else "a number"
            raise ValueError(f"must be {description} from {least:g}")
        return kind(value)

    return read


def system_message(form: AnswerForm, instruction: str) -> tuple[Message, ...]:
    """Return a strategy's system message: the dataset's, or else `instruction`; () if empty."""
    text = instruction if form.system is None else form.system
    text = f"{text}\n{form.remark}" if text and form.remark else text or form.remark
    return (Message("system", text),) if text else ()


class Direct:
    """One request with the prompt, or with the dataset's turns; the reply is the answer."""

    name = "direct"
    rounds = 1

    def converse(self, task: Task) -> Conversation:
        """Ask once."""
        reply: Reply = yield Ask(task.messages)
        return reply.text
