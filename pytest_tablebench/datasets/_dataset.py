"""What a dataset is: where examples come from, how they are asked, how replies are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._prompts import (
    AnswerForm,
    AnswerPlace,
    PromptParts,
    Render,
    ReplyForm,
)
from pytest_tablebench.datasets._source import Source
from pytest_tablebench.datasets.case import DIRECT
from pytest_tablebench.datasets.files import PULL
from pytest_tablebench.datasets.pull._upstream import Upstream
from pytest_tablebench.errors import SettingsError


class Dataset:
    """A dataset's fixed properties, and the way to its files.

    A subclass sets the fields that differ, in the class or for each instance, and gives `open` and
    `prompt`. Options override the fields from `serializers` to `params`; an axis takes a name or
    several.
    """

    name: str
    """As in options and reports."""
    folder: str
    """The folder of its files inside the data folder; several datasets may read the same files."""
    benchmark: str = "own"
    """The benchmark whose figures it is part of."""
    get: str = ""
    """One shell command line that fetches the files, with `{folder}` for the target."""
    upstream: Upstream | None = None
    """Where `tablebench pull` gets the files."""
    licence: str = ""
    """The licence of the data; "": that of `upstream`."""
    citation: str = ""
    """How the authors ask to be cited."""
    is_own: bool = False
    """Whether the user's data folder declares it: `suites/test_own.py` asks those."""

    serializers: str | tuple[str, ...] = ()
    """The serializers of its grid; empty: the usual ones (see `Registry.grid`)."""
    perturbations: str | tuple[str, ...] = ()
    """The perturbations of its grid; empty: the usual ones."""
    strategy: str | tuple[str, ...] = DIRECT
    """How a model is asked."""
    modality: str | tuple[str, ...] = ()
    """How tables are shown; empty: what each serializer gives."""
    shots: int = 0
    """Demonstrations in a prompt."""
    limit: int | None = None
    """Examples that are asked, the first ones; None: all."""
    threshold: float = 1.0
    """A score at least this high counts as right."""
    judged_threshold: float | None = None
    """The threshold where a judge is named, whose score counts then; None: `threshold`."""
    params: Mapping[str, Any] = MappingProxyType({})
    """Parameters of requests to the model under test, over temperature 0 and 512 tokens."""

    metric: str | None = None
    """The registered metric that scores an answer; None: it is right where all tests pass."""
    part: str | None = None
    """The number of the metric that is the score; None: the metric's own choice."""
    parts: tuple[str, ...] | None = None
    """The numbers that reports show beside the score; None: all."""
    tables: bool = True
    """Whether questions come with tables; without any there is one configuration alone."""
    options: tuple[str, ...] = ()
    """Names of the settings that `open` is given as keyword arguments."""
    answer_forms: Mapping[AnswerPlace, AnswerForm] = MappingProxyType({})
    """How answers are asked for and judged in places where that differs from a plain reply."""
    reply_form: ReplyForm | None = None
    """The form that prompts ask of plain replies."""
    has_versions: bool = False
    """Whether a case asks all `versions` of its example; its metric gets the list of answers."""

    @property
    def licence_name(self) -> str:
        """The licence of the data, "" where none is stated."""
        return self.licence or ("" if self.upstream is None else self.upstream.licence.name)

    @property
    def fetch(self) -> str:
        """The command that fetches the files; "" for a dataset without any."""
        return self.get or ("" if self.upstream is None else f"{PULL}{self.upstream.name}")

    def open(self, folder: Path, *, compat: Compat = "fixed", **options: Any) -> Source:
        """Open the files under `folder`; `DataMissing` or `DataError` say what is wrong.

        Arguments:
            folder: of this dataset, inside the data folder.
            compat: for datasets whose published reader differs from what its paper means; others
                ignore it.
            options: the settings that `Dataset.options` names.
        """
        raise NotImplementedError

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt's pieces; `render` turns a table into text."""
        raise NotImplementedError

    def chain(self, compat: Compat) -> tuple[str, ...]:  # noqa: ARG002 - mostly the same
        """Return the post-processors applied, in order, to replies and references."""
        return ()

    def reading(self, compat: Compat) -> tuple[str, ...]:  # noqa: ARG002 - mostly the same
        """Return the post-processors that find the answer in a plain reply, ahead of `chain`."""
        return ()

    def refuses(self, strategy: str) -> str | None:  # noqa: ARG002 - mostly none
        """Return why the dataset is not asked by a strategy; None: it is."""
        return None

    def versions(self, example: Example) -> Sequence[Example]:
        """Return the examples that are asked one after the other in one case of `example`."""
        return (example,)

    def worded(self, place: AnswerPlace, form: AnswerForm, texts: Mapping[str, str]) -> AnswerForm:  # noqa: ARG002
        """Return the form of a place with the words of printed prompts, by name, that fit."""
        return form


def open_dataset(
    dataset: Dataset, folder: Path, *, compat: Compat, settings: Mapping[str, Any]
) -> Source:
    """Open the files under `folder`, with what the dataset asks for of the settings of a run.

    Raises what `open` raises, and `SettingsError` where it returns something else.
    """
    options = {name: settings[name] for name in dataset.options if name in settings}
    source = dataset.open(folder, compat=compat, **options)
    if not isinstance(source, Source):
        raise SettingsError(
            f"dataset {dataset.name!r}: open returned a {type(source).__name__}, "
            f"not a pytest_tablebench.extend.Source"
        )
    return source
