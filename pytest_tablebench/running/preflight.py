"""Checks before the first call, of errors that would make every case fail."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_tablebench.config.axes import TEXT
from pytest_tablebench.config.extras import PICTURES, require
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets.described import SETTINGS_FILE, DescribedDataset
from pytest_tablebench.datasets.folder import FolderDataset
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics.typed_answer import KINDS
from pytest_tablebench.models import GGUFModel
from pytest_tablebench.models.gguf import PREFIX
from pytest_tablebench.running.correcting import CorrectionFile
from pytest_tablebench.running.name_checks import check_names
from pytest_tablebench.running.scorer import asked_by
from pytest_tablebench.serializers.content import has_content
from pytest_tablebench.strategies import named_strategy
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted, shortened, unknown_name

if TYPE_CHECKING:
    from pytest_tablebench.datasets.case import Case
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.running.axes import Axes
    from pytest_tablebench.running.provider_pool import ProviderPool
    from pytest_tablebench.running.runner import Runner


def check_settings(
    settings: Settings,
    registry: Registry,
    axes: Axes,
    models: ProviderPool,
    lenient: Collection[str] = (),
) -> None:
    """Raise `SettingsError` for settings that cannot be used.

    `lenient` contains the keys of options that may name datasets of another part of the project.
    """
    if "bench_dataset" not in lenient:
        check_names("dataset", settings.datasets, registry.datasets, "--bench-dataset")
    axes.check()
    if settings.corrections is not None:
        CorrectionFile(settings.corrections, settings.corrections.name).read()
    if "bench_threshold" not in lenient:
        names = tuple(settings.thresholds)
        check_names("dataset", names, registry.datasets, "--bench-threshold")
    for model in models.asked():
        if not model.startswith(("tablebench/", PREFIX)):
            continue
        flag = "--bench-model" if model in settings.models else "--bench-judge"
        try:
            provider = models.provider(model)  # reports a wrong name or file now
        except SettingsError as error:
            raise SettingsError(f"{flag}: {error}") from None
        if isinstance(provider, GGUFModel) and settings.executor != "local":
            raise SettingsError(
                f"{flag}: {model} is served only on this machine; leave out "
                f"--bench-executor={settings.executor}"
            )


def check_threshold(place: str, value: object) -> None:
    """Raise `SettingsError` for a threshold that is not a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        label = shortened(repr(value), 40)
        raise SettingsError(f"{place}: threshold takes a number from 0 to 1, not {label}")


def check_replay(runner: Runner) -> None:
    """Raise `SettingsError` for a replay without a store."""
    settings = runner.settings
    models = [model for model in settings.models if runner.models.is_stored(model)]
    if not settings.replay or not models or settings.readonly_stores or settings.store:
        return
    folder = settings.store_folder()
    if folder is None or not os.path.lexists(folder):
        where = "none is kept" if folder is None else f"{folder} does not exist"
        raise SettingsError(
            f"--bench-replay needs a store of answers ({where}); name one with "
            f"--bench-store=DIR or --bench-store-readonly=DIR"
        )


def check_models(runner: Runner, by_model: Mapping[str, Sequence[Case]]) -> None:
    """Raise `SettingsError` for a model whose provider litellm does not know.

    With an address of the user every name is a model of that server. Raises `ModelError` if the
    engine has no facts about a model.
    """
    if runner.settings.api_base is not None:
        return
    for model, cases in by_model.items():
        facts = runner.models.facts_about(model, cases[0].dataset)
        if facts is None or facts.provider is not None:
            continue
        from pytest_tablebench.models.model_table import near_model

        if model.lower().endswith(".gguf"):
            hint = f"a file is named {PREFIX}{model}"
        elif (near := near_model(model)) is not None:
            hint = f"did you mean {near}?"
        else:
            hint = "names look like gpt-4o, ollama/llama3.2 or hosted_vllm/NAME"
        raise SettingsError(f"--bench-model: litellm knows no provider for {model!r}; {hint}")


def check_sight(runner: Runner, by_model: Mapping[str, Sequence[Case]]) -> None:
    """Raise `SettingsError` for a model that cannot read the pictures of its cases.

    Raises `ModelError` if the engine has no facts about a model.
    """
    for model, cases in by_model.items():
        image_case = next((case for case in cases if case.modality != TEXT), None)
        if image_case is not None and runner.models.sees(model, image_case.dataset) is False:
            raise SettingsError(
                f"{model} cannot read the pictures of {image_case.dataset} "
                f"({image_case.modality}); leave them out with --bench-modality=text, "
                f"or name a model that reads pictures"
            )


def check_tools(runner: Runner, by_model: Mapping[str, Sequence[Case]]) -> None:
    """Raise `SettingsError` for a model that calls no tools by litellm's table, if cases need it.

    With an address of the user nothing is known about a model.
    """
    from pytest_tablebench.models.model_table import entry_of

    strategies = runner.registry.strategies
    for model in runner.models.engine_models() if runner.settings.api_base is None else ():
        names = {case.strategy for case in by_model.get(model, ())}
        if not any(hasattr(named_strategy(name, strategies)[0], "tools") for name in names):
            continue
        owner = str(getattr(runner.models.facts_about(model), "provider", ""))
        entry = entry_of(owner, model.removeprefix(f"{owner}/"))
        if entry is not None and not entry.get("supports_function_calling"):
            raise SettingsError(
                f"{model} calls no tools by litellm's table of models; name another "
                f"model, or another --bench-strategy"
            )


def check_datasets(runner: Runner, names: Iterable[str]) -> None:
    """Raise `SettingsError` for a dataset whose settings, metrics or serializers cannot be used."""
    for name in names:
        _check_own_rows(runner, name)
        check_threshold(f"dataset {name!r}", runner.axes.defaults(name).threshold)
        _check_metric(runner, name)
        _check_named_metrics(runner, name)
        _check_modules(runner, name)
        runner.axes.check_declared(name)
        _check_formats(runner, name)


def _check_own_rows(runner: Runner, name: str) -> None:
    """Raise `SettingsError` for unusable rows of a user's own dataset that does not allow them."""
    dataset = runner.registry.datasets[name]
    if not isinstance(dataset, FolderDataset | DescribedDataset) or not dataset.is_own:
        return
    problems = [] if dataset.description.allow_unusable else runner.source(name).problems
    if problems:
        listing = "; ".join(shortened(str(problem), 200) for problem in problems[:5])
        more = f"; and {len(problems) - 5:,} more" if len(problems) > 5 else ""
        raise SettingsError(
            f"dataset {name!r}: {counted(len(problems), 'row')} cannot be used: {listing}{more}. "
            f"`tablebench check` shows them all. Correct them, or leave them out with "
            f"`allow_unusable = true` in {SETTINGS_FILE} of the dataset's folder"
        )


def _check_metric(runner: Runner, name: str) -> None:
    registry = runner.registry
    for strategy in runner.axes.defaults(name).strategy:
        metric = asked_by(registry, name, strategy).metric
        if metric:
            check_names("metric", [str(metric)], registry.metrics, f"dataset {name!r}")


def _check_named_metrics(runner: Runner, name: str) -> None:
    registry = runner.registry
    kinds = KINDS if registry.datasets[name].metric == "typed_answer" else ()
    for metric, place in runner.named_metrics(name).items():
        if metric not in registry.metrics:
            metrics = (*kinds, *registry.metrics)
            raise SettingsError(f"{place}: {unknown_name('metric', metric, metrics)}")


def _check_modules(runner: Runner, name: str) -> None:
    metrics = [runner.registry.datasets[name].metric, *runner.named_metrics(name)]
    for metric in filter(None, metrics):
        modules = getattr(runner.registry.metrics.get(metric), "modules", ())
        require(modules, f"dataset {name!r}, scored by {metric},")
    if any(modality != TEXT for modality in runner.axes.modalities(name)):
        require(PICTURES, f"dataset {name!r}, which shows pictures,")


def _check_formats(runner: Runner, name: str) -> None:
    others = [
        (written, runner.registry.serializers[written])
        for written in runner.axes.defaults(name).serializers
        if not runner.registry.is_built_in("serializer", written)
    ]
    table = _some_table(runner, name) if others else None
    if table is None:
        return
    for written, to_text in others:
        content: object = "?"
        with contextlib.suppress(Exception):
            content = to_text(table)
        if not has_content(content):
            content_kind = "an empty text" if isinstance(content, str) else type(content).__name__
            raise SettingsError(
                f"--bench-serializer: {written!r} returns no content ({content_kind}) for "
                f"{table.label} of {name!r}; it must return a text, or a tuple of "
                f"texts and images"
            )


def _some_table(runner: Runner, name: str) -> Table | None:
    source = runner.source(name)
    try:
        inputs = source.example(source.example_ids(1)[0]).inputs.values()
    except Exception:
        return None
    return next((value for value in inputs if isinstance(value, Table)), None)
