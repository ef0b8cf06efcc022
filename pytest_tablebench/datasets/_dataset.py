"""The base class of datasets, with its settings, prompts and answer places.

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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol

from pytest_tablebench.config.axes import DIRECT
from pytest_tablebench.config.compat import Compat
from pytest_tablebench.config.parameters import RESERVED
from pytest_tablebench.datasets._example import Example, OtherGold
from pytest_tablebench.datasets._source import Source
from pytest_tablebench.datasets.files import PULL
from pytest_tablebench.datasets.pull._upstream import Upstream
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import shortened

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


class Dataset:
    """A dataset's fixed properties, and how to open its files.

    A subclass sets the fields that differ from the defaults, in the class or for each instance, and
    defines `open` and `prompt`. Options override the fields from `serializers` to `params`. An axis
    is one name or several.
    """

    name: str
    """The name in options and reports."""
    folder: str
    """The folder of its files in the data folder; several datasets may share one."""
    benchmark: str = "own"
    """The benchmark whose figures include this dataset."""
    get: str = ""
    """A shell command line that fetches the files, with `{folder}` for the target."""
    upstream: Upstream | None = None
    """The source from which `tablebench pull` gets the files."""
    licence: str = ""
    """The licence of the data; "" for the licence of `upstream`."""
    citation: str = ""
    """How the authors ask to be cited."""
    corrections: str = ""
    """The file of corrections of its gold, in its folder; "" for none."""
    is_own: bool = False
    """Whether the user's data folder declares it; `suites/test_own.py` runs these datasets."""

    serializers: str | tuple[str, ...] = ()
    """The serializers of its grid; empty for the usual ones (see `Registry.grid`)."""
    perturbations: str | tuple[str, ...] = ()
    """The perturbations of its grid; empty for the usual ones."""
    strategy: str | tuple[str, ...] = DIRECT
    """The strategy, or several."""
    modality: str | tuple[str, ...] = ()
    """How tables are shown; empty for the modality of each serializer."""
    shots: int = 0
    """The number of demonstrations in a prompt."""
    limit: int | None = None
    """The number of examples to run, from the first on; None for all."""
    threshold: float = 1.0
    """The lowest score of a right answer."""
    judged_threshold: float | None = None
    """The threshold of the judge's score when a run has a judge; None for `threshold`."""
    params: Mapping[str, Any] = MappingProxyType({})
    """Request parameters for the model under test; the defaults are temperature 0, 512 tokens."""

    metric: str | None = None
    """The registered metric that scores an answer; None if the tests alone decide."""
    part: str | None = None
    """The part of the metric's result that is the score; None for the metric's own choice."""
    parts: tuple[str, ...] | None = None
    """The parts that reports show in addition to the score; None for all."""
    tables: bool = True
    """Whether prompts show tables; without tables there is only one configuration."""
    options: tuple[str, ...] = ()
    """Names of the settings that `open` receives as keyword arguments."""
    answer_forms: Mapping[AnswerPlace, AnswerForm] = MappingProxyType({})
    """For each answer place that differs from a plain reply: how to ask for and judge answers."""
    reply_form: ReplyForm | None = None
    """The form that prompts require of plain replies; None if they require none."""
    has_versions: bool = False
    """Whether a case asks all `versions` of its example; its metric gets the list of answers."""

    @property
    def licence_name(self) -> str:
        """The licence of the data, "" if it is not stated."""
        return self.licence or ("" if self.upstream is None else self.upstream.licence.name)

    @property
    def fetch(self) -> str:
        """The command that fetches the files, "" without one."""
        return self.get or ("" if self.upstream is None else f"{PULL}{self.upstream.name}")

    def open(self, folder: Path, *, compat: Compat = "fixed", **options: Any) -> Source:
        """Open the dataset's files. Raises `DataMissing` or `DataError`.

        Arguments:
            folder: the dataset's folder, inside the data folder.
            compat: used by datasets whose published reader differs from its paper.
            options: the settings that `Dataset.options` names.
        """
        raise NotImplementedError

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt's pieces; `render` turns a table into text."""
        raise NotImplementedError

    def chain(self, compat: Compat) -> tuple[str, ...]:  # noqa: ARG002 - for subclasses
        """Return the post-processors applied, in order, to replies and references."""
        return ()

    def reading(self, compat: Compat) -> tuple[str, ...]:  # noqa: ARG002 - for subclasses
        """Return the post-processors that find the answer in a plain reply, before `chain`."""
        return ()

    def refuses(self, strategy: str) -> str | None:  # noqa: ARG002 - for subclasses
        """Return why the dataset does not support a strategy, or None if it does."""
        return None

    def versions(self, example: Example) -> Sequence[Example]:
        """Return the examples whose questions one case of `example` asks, in order."""
        return (example,)

    def other_golds(self, folder: Path) -> Iterable[OtherGold]:  # noqa: ARG002 - for subclasses
        """Return gold answers in other versions of the files in `folder`, for `tablebench audit`.

        Unreadable versions are left out.
        """
        return ()

    def worded(self, place: AnswerPlace, form: AnswerForm, texts: Mapping[str, str]) -> AnswerForm:  # noqa: ARG002
        """Return the form of a place with the printed prompts (text by name) that apply to it."""
        return form


def open_dataset(
    dataset: Dataset, folder: Path, *, compat: Compat, settings: Mapping[str, Any]
) -> Source:
    """Open a dataset with the settings of the run that its `options` name.

    Raises what `open` raises, and `SettingsError` if `open` does not return a `Source`.
    """
    options = {name: settings[name] for name in dataset.options if name in settings}
    source = dataset.open(folder, compat=compat, **options)
    if not isinstance(source, Source):
        raise SettingsError(
            f"dataset {dataset.name!r}: open returned a {type(source).__name__}, "
            f"not a pytest_tablebench.extend.Source"
        )
    return source


@dataclass(frozen=True, kw_only=True)
class Defaults:
    """The checked fields of the same names in `Dataset`; an axis is a tuple of names."""

    serializers: tuple[str, ...]
    perturbations: tuple[str, ...]
    strategy: tuple[str, ...]
    modality: tuple[str, ...]
    shots: int
    limit: int | None
    threshold: float
    judged_threshold: float | None
    params: Mapping[str, Any]
    part: str | None
    parts: tuple[str, ...] | None
    tables: bool


def defaults_of(dataset: Dataset | type[Dataset]) -> Defaults:
    """Return a dataset's declared settings. Raises `SettingsError` for an invalid value.

    The class `Dataset` itself has the defaults of all datasets.
    """
    name = dataset.name if isinstance(dataset, Dataset) else dataset.__name__
    values = {each.name: getattr(dataset, each.name) for each in fields(Defaults)}
    if dataset.part is not None and not isinstance(dataset.part, str):
        raise _wrong(name, "part", dataset.part, "the name of a part of its metric")
    for setting in ("serializers", "perturbations", "strategy", "modality", "parts"):
        if setting != "parts" or dataset.parts is not None:
            values[setting] = _names(name, setting, values[setting])
    for setting, least in (("shots", 0), ("limit", 1)):
        value = values[setting]
        is_number = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if not is_number and not (setting == "limit" and value is None):
            raise _wrong(name, setting, value, f"a whole number of at least {least}")
    values["params"] = _params(name, dataset.params)
    return Defaults(**values | {"strategy": values["strategy"] or (DIRECT,)})


def _names(dataset: str, field: str, value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise _wrong(dataset, field, value, "a name or a tuple of names")
    return tuple(dict.fromkeys(names))


def _params(dataset: str, params: Any) -> Mapping[str, Any]:
    if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
        raise _wrong(dataset, "params", params, "a mapping of names to values")
    for name in params:
        if name in RESERVED:
            raise SettingsError(
                f"dataset {dataset!r}: params must not contain {name!r}: "
                f"the run itself sets this parameter"
            )
    return dict(params)


def _wrong(dataset: str, field: str, value: object, expected: str) -> SettingsError:
    label = shortened(repr(value), 60)
    return SettingsError(f"dataset {dataset!r}: {field} must be {expected}, not {label}")


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

    def for_example(self, example: Example | None) -> AskedDataset:
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
    dataset: Dataset, answer_place: AnswerPlace, texts: Mapping[str, str] | None = None
) -> AskedDataset:
    """Return a dataset whose answers are in a place; `texts` are printed prompts by name."""
    form = dataset.answer_forms.get(answer_place, AnswerForm())
    if texts:
        form = dataset.worded(answer_place, form, texts)
    return AskedDataset(dataset, answer_place, form)
