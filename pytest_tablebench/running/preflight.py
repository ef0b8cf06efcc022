"""Checks before the first call: errors that would make every case fail, and changed servers."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from pytest_tablebench.config.axes import TEXT
from pytest_tablebench.config.extras import PICTURES, require
from pytest_tablebench.config.parameters import NONE, effort_params
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.datasets.described import SETTINGS_FILE, DescribedDataset
from pytest_tablebench.datasets.folder import FolderDataset
from pytest_tablebench.errors import ModelError, SettingsError, errors_of
from pytest_tablebench.executors import Work
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.metrics.typed_answer import KINDS
from pytest_tablebench.models import GGUFModel, Reply, Request, Resolution
from pytest_tablebench.models.gguf import PREFIX
from pytest_tablebench.registry import Registry
from pytest_tablebench.running._limits import stored
from pytest_tablebench.running.axes import Axes, check_names
from pytest_tablebench.running.correcting import CorrectionFile
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.running.scorer import asked_by
from pytest_tablebench.serializers.content import has_content, images_of
from pytest_tablebench.strategies import named_strategy
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted, shortened, unknown_name


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
        with errors_of(flag):
            provider = models.provider(model)  # reports a wrong name or file now
        if isinstance(provider, GGUFModel) and settings.executor != "local":
            raise SettingsError(
                f"{flag}: {model} is served only on this machine; leave out "
                f"--bench-executor={settings.executor}"
            )


def check_threshold(location: str, value: object) -> None:
    """Raise `SettingsError` for a threshold that is not a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        label = shortened(repr(value), 40)
        raise SettingsError(f"{location}: threshold takes a number from 0 to 1, not {label}")


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
    for metric, location in runner.named_metrics(name).items():
        if metric not in registry.metrics:
            metrics = (*kinds, *registry.metrics)
            raise SettingsError(f"{location}: {unknown_name('metric', metric, metrics)}")


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


_SAME_RUN = (
    "the efforts would be the same run several times. Name a model that takes them, or one "
    "effort, or omit --bench-effort"
)


def check_efforts(runner: Runner, by_model: Mapping[str, Sequence[Case]]) -> None:
    """Raise `SettingsError` for a model to which several efforts make no difference.

    That is the case if a request cannot contain them, or contains the same for two of them. A
    single effort that is not sent is only noted (`params_dropped` in `run.json`). Providers that
    other packages register are not checked, because only they know what they do with parameters.
    Raises `ModelError` if the engine has no facts about a model.
    """
    efforts = runner.settings.efforts
    if efforts is None or len(efforts) < 2:
        return
    engine_models = runner.models.engine_models()
    for model, cases in by_model.items():
        if model not in engine_models:
            if not runner.models.is_stored(model) and model.startswith("tablebench/"):
                raise _effort_error(efforts, model, "it does not think")
            continue
        for dataset in dict.fromkeys(case.dataset for case in cases):
            facts = {
                effort: runner.models.facts_about(model, dataset, effort) for effort in efforts
            }
            sent = {effort: entry for effort, entry in facts.items() if entry is not None}
            _check_sent(efforts, model, sent)


def _check_sent(efforts: Iterable[str], model: str, facts: Mapping[str, Resolution]) -> None:
    for effort, entry in facts.items():
        for name in effort_params(effort):
            # Claude thinks only if asked to, so that litellm has nothing to send for `none`.
            if name in entry.dropped and not (effort == NONE and entry.reasons is False):
                raise _effort_error(efforts, model, f"{effort} is not sent: {entry.dropped[name]}")
    for (first, first_facts), (second, second_facts) in combinations(facts.items(), 2):
        if first_facts.sent == second_facts.sent:
            raise _effort_error(efforts, model, f"{first} and {second} send the same request")


def _effort_error(efforts: Iterable[str], model: str, why: str) -> SettingsError:
    return SettingsError(
        f"--bench-effort={','.join(efforts)}: {model} takes no such axis "
        f"({shortened(why, 300)}); {_SAME_RUN}"
    )


_IDENTITY: Mapping[str, str] = {
    "fingerprint": "version",
    "served_model": "model",
    "served_by": "provider",
}
"""What a reply says about the model that gave it, with the names for messages."""


def check_served(runner: Runner, cases: Iterable[Case]) -> dict[str, Any] | None:
    """Ask the first stored question of one model again, and compare what served it.

    Returns the entry of `run.json`: `same` is None if the replies do not say, and False without a
    reply. None if no question is stored.
    """
    for case in cases:
        request, before = _stored_question(runner, case)
        if request is not None and before is not None:
            try:
                return _compared(before, _reply(runner, case.model, request))
            except ModelError as error:
                if error.reason == "budget":
                    return {"same": None, "text": "the budget allows no call to check the server"}
                why = shortened(str(error), 200)
                return {"same": False, "text": f"the server did not answer a check: {why}"}
    return None


def _stored_question(runner: Runner, case: Case) -> tuple[Request | None, Reply | None]:
    conversations = runner.conversations
    try:
        step = next(conversations.begin(case, conversations.task_of(case)))
        if not isinstance(step, Ask) or step.model not in {None, case.model}:
            return None, None
        request = conversations.request(case, step, 0)
    except Exception:  # the case itself reports it
        return None, None
    limits = conversations.route_of(case, step).limits
    settlement = stored(request, limits, runner.models.store())
    return settlement.request, settlement.reply


def _reply(runner: Runner, model: str, request: Request) -> Reply:
    """Make a call although the reply is stored: the request has a name of its own."""
    request = replace(request, generation=f"check-{uuid.uuid4().hex}")
    for message in request.messages:
        runner.pictures.keep(model, images_of(message.content))
    key, executor = request.key(), runner.models.executor()
    executor.submit(Work(key, request, media=runner.pictures.path(model)), model)
    while executor.lost is None:
        outcome = dict(executor.outcomes(wait=True)).get(key)
        if isinstance(outcome, Exception):
            raise outcome
        if isinstance(outcome, Reply):
            return outcome
    raise executor.lost


def _compared(before: Reply, now: Reply) -> dict[str, Any]:
    pairs = {
        name: (str(old), str(new))
        for field, name in _IDENTITY.items()
        if (old := getattr(before, field)) is not None and (new := getattr(now, field)) is not None
    }
    changes = [
        f"{name} {shortened(new, 80)} instead of {shortened(old, 80)}"
        for name, (old, new) in pairs.items()
        if old != new
    ]
    same = " and ".join(f"{name} {shortened(new, 80)}" for name, (_, new) in pairs.items())
    text = f"a call shows the same {same} as when they were stored"
    if changes:
        text = f"the server has changed since the stored answers: {', '.join(changes)}"
    elif not pairs:
        text = (
            "the server does not name what answers, so another model behind the name is not "
            "noticed; --bench-max-age asks again"
        )
    return {"same": not changes if pairs else None, "text": text}
