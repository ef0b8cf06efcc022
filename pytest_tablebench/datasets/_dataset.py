"""The base class of datasets: source of examples, prompts, and reading of replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_tablebench.config.axes import DIRECT
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
from pytest_tablebench.datasets.files import PULL
from pytest_tablebench.datasets.other_gold import OtherGold
from pytest_tablebench.datasets.pull._upstream import Upstream
from pytest_tablebench.errors import SettingsError


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
