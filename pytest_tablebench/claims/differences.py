"""What differs between two runs in addition to their answers: the one list of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pytest_tablebench.config.axes import MODES, SAME_QUESTION
from pytest_tablebench.config.options import OPTIONS, Differs
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.folder import RUN, read_run_json
from pytest_tablebench.results.judges import JUDGE_FACTS
from pytest_tablebench.results.served import short_names
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import printable

Kind = Literal[
    "model", "data", "prompt", "corrections", "parameter", "setting", "package", "server"
]

_PACKAGES = ("pytest-tablebench", "spacy")

_PROMPT = frozenset(
    {
        *("prompts", "shots", "demos", "small_pool", "structure", "format_retries", "compat"),
        *("grid", *(axis.name for axis in MODES if axis.changes_the_question)),
    }
)
"""Settings that change what the model reads."""

_PARAMETERS = frozenset(
    {
        *("params", "params_sent", "reasoning_tokens", "extend_cut", "context", "api_base"),
        *(axis.name for axis in SAME_QUESTION),
    }
)
"""Settings of the calls."""


@dataclass(frozen=True)
class Difference:
    """A difference between two runs.

    `name` is the place in run.json (`params.temperature`, `datasets.wikitq.files`), or a fact.
    `unlike` is whether the runs therefore measure different things.
    """

    name: str
    before: str
    after: str
    meaning: str = ""
    unlike: bool = False

    @property
    def kind(self) -> Kind:
        """What it is a difference of."""
        first, _, rest = self.name.partition(".")
        word = first.partition(" ")[0]  # `shots of a, b` are the shots of two datasets
        if "corrections" in self.name:
            return "corrections"
        if word in _PARAMETERS:
            return "parameter"
        if word in _PROMPT:
            return "prompt"
        if first == "datasets":
            return "data" if rest else "setting"
        kinds: dict[str, Kind] = {"model": "model", "versions": "package", "served": "server"}
        return kinds.get(first, "setting")

    @property
    def text(self) -> str:
        """The difference in words, such as `package pytest-tablebench: 0.1.0 to 0.2.0`."""
        first, _, rest = self.name.partition(".")
        name = rest if first in {"versions", "params", "params_sent"} else self.name
        if self.kind == "data":
            dataset, _, part = rest.rpartition(".")
            name = f"of {dataset}, {part}"
        name += " as sent" if first == "params_sent" else ""
        values = f"{printable(self.before, 80)} to {printable(self.after, 80)}"
        return f"{self.kind} {printable(name, 80)}: {values}"


def differences_between(
    before: Mapping[str, Any], after: Mapping[str, Any], *, of_one_run: bool = False
) -> tuple[Difference, ...]:
    """Return the differences between two runs' `run.json`.

    A setting that one run did not record (an interrupted run, an older version) is no difference.
    With `of_one_run` the runs are to be parts of one run, which must agree in more settings.
    """
    differences: list[Difference] = []
    for option in OPTIONS:
        if option.recorded is None or option.differs.verdict == "ignore":
            continue
        differs = option.differs
        if of_one_run and option.of_one_run:
            differs = replace(differs, verdict="refuse")
        # Datasets may declare such an option: compare the values that were used, if recorded.
        entries = _entries(option.entry, before, after) if option.by_dataset else None
        if entries is None:
            differences += _option(option.recorded, differs, before, after)
        else:
            differences += _by_dataset(option.recorded, differs, entries)
    further_settings = {"part": _PART, "threshold": _THRESHOLD} if of_one_run else {"part": _PART}
    for name, differs in further_settings.items():
        entries = _entries(name, before, after)
        differences += _by_dataset(name, differs, entries) if entries is not None else []
    for name, meaning in _JUDGES.items():
        differences += _judges(name, meaning, before, after)
    differences += _data(before, after)
    differences += _served(before, after)
    for package in _PACKAGES:
        old, new = (mapping(run, "versions").get(package) for run in (before, after))
        if old is not None and new is not None and old != new:
            name = f"versions.{package}"
            meaning = "scores may differ for that reason alone"
            differences.append(Difference(name, str(old), str(new), meaning, unlike=False))
    return tuple(sorted(differences, key=lambda difference: not difference.unlike))


def _served(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the difference in what answered the runs, if both say it."""
    old, new = mapping(before, "served"), mapping(after, "served")
    if old and new and old.keys() != new.keys():
        names = short_names({*old, *new})
        first, second = (" + ".join(sorted(names[name] for name in run)) for run in (old, new))
        meaning = "another model, provider or version answered"
        yield Difference("served", first, second, meaning, unlike=False)


_PART = Differs("refuse", "another part of the metric is the score", "the metric's own")
_THRESHOLD = Differs("refuse", "other scores count as right")

Entries = Mapping[str, tuple[Any, Any]]
"""The values of a setting in both runs, by dataset."""


def _entries(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Entries | None:
    old, new = mapping(before, "by_dataset"), mapping(after, "by_dataset")
    if old and new and old.keys().isdisjoint(new):
        return {}  # the runs have no dataset in common
    pairs = {}
    for dataset in sorted({*old} & {*new}):
        first, second = mapping(old, dataset), mapping(new, dataset)
        if key not in first or key not in second:
            return None
        pairs[dataset] = first[key], second[key]
    return pairs or None


def _by_dataset(place: str, differs: Differs, entries: Entries) -> Iterator[Difference]:
    """Yield the differences between common datasets, with equal ones together."""
    datasets_of: dict[tuple[str, str, str], list[str]] = {}
    key = place.rpartition(".")[2]
    for dataset, (first, second) in entries.items():
        for difference in _option(key, differs, {key: first}, {key: second}):
            texts = difference.name, difference.before, difference.after
            datasets_of.setdefault(texts, []).append(dataset)
    for (name, first, second), datasets in datasets_of.items():
        where = f" of {', '.join(datasets)}" if len(datasets) < len(entries) else ""
        full = name.replace(key, place, 1)
        yield Difference(
            f"{full}{where}", first, second, differs.meaning, unlike=differs.verdict == "refuse"
        )


def _option(
    place: str, differs: Differs, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Difference]:
    """Yield the differences of two runs in an option, entry by entry if it has several."""
    *inside, key = place.split(".")
    before, after = mapping(before, *inside), mapping(after, *inside)
    if key not in before or key not in after:
        return
    old, new, unset = before[key], after[key], differs.unset
    pairs = {place: (old, new)}
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        unset = "not given"
        pairs = {f"{place}.{name}": (old.get(name), new.get(name)) for name in sorted({*old, *new})}
    elif isinstance(old, list) and isinstance(new, list):
        pairs = {place: (", ".join(sorted(map(str, old))), ", ".join(sorted(map(str, new))))}
    for name, (first, second) in pairs.items():
        if first != second:
            texts = _shown(first, unset), _shown(second, unset)
            is_unlike = differs.verdict == "refuse"
            yield Difference(name, *texts, differs.meaning, unlike=is_unlike)


def sent_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the parameters that were sent with other values, or in only one run.

    The meaning is why a run did not send a parameter that it was to send.
    """
    dropped = [mapping(run, "params_dropped") for run in (before, after)]
    sent = [mapping(run, "params_sent") for run in (before, after)]
    for name in sorted({*sent[0], *sent[1], *dropped[0], *dropped[1]}) if all(sent) else ():
        first, second = (
            _shown(values[name], "null") if name in values else "not sent" for values in sent
        )
        if first != second:
            reasons = [str(reasons[name]) for reasons in dropped if name in reasons]
            meaning = reasons[0] if len(reasons) == 1 else ""
            yield Difference(f"params_sent.{name}", first, second, meaning)


def _judges(
    name: str, meaning: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Difference]:
    """Yield the differences in a fact about the judge, for metrics that both runs have."""
    first, second = mapping(before, name), mapping(after, name)
    for metric in sorted(first.keys() & second.keys()):
        if first[metric] != second[metric]:
            texts = _shown(first[metric]), _shown(second[metric])
            yield Difference(f"{name}.{metric}", *texts, meaning, unlike=True)


_JUDGES = {
    "judge_params": "the judge had other parameters",
    "judge_prompts": "the judge had another prompt",
}


def _shown(value: object, none: str = "none") -> str:
    if value is None:
        return none
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _data(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the differences in the digests and revisions of each common dataset."""
    old, new = mapping(before, "datasets"), mapping(after, "datasets")
    for dataset in sorted({*old} & {*new}):
        first, second = mapping(old, dataset), mapping(new, dataset)
        for key in sorted(({*first} & {*second}) - {"notes", "problems"}):
            if first[key] != second[key]:
                name, texts = f"datasets.{dataset}.{key}", _shortest(first[key], second[key])
                yield Difference(name, *texts, "the data is not the same", unlike=True)


def _shortest(old: object, new: object) -> tuple[str, str]:
    """Return two values as texts; for mappings, only the entries that differ."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return _shown(old), _shown(new)
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return _digests(old, names), _digests(new, names)


def _digests(values: Mapping[str, Any], names: Sequence[str]) -> str:
    return ", ".join(
        f"{name} {_shown(values[name])[:12]}" if name in values else f"no {name}" for name in names
    )


def check_alike(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    hint: str,
    of_one_run: bool = False,
    different_judges: bool = False,
) -> None:
    """Raise `SettingsError` with all differences that make two runs (their `run.json`) unlike.

    A different model is allowed unless `of_one_run`, another judge if `different_judges`. `hint`
    ends the message; it says what to do.
    """
    differences = differences_between(before, after, of_one_run=of_one_run)
    unlike = [
        difference
        for difference in differences
        if difference.unlike
        and not (different_judges and difference.name.partition(".")[0] in JUDGE_FACTS)
    ]
    if unlike:
        named = "; ".join(
            f"{printable(difference.name, 80)}: {printable(difference.before, 120)} against "
            f"{printable(difference.after, 120)} ({difference.meaning})"
            for difference in unlike
        )
        raise SettingsError(f"the runs are unlike: {named}. {hint}")


def latest_run(model: str, baseline: Path, places: Iterable[Path]) -> Path | None:
    """Return the newest finished run of a model that is comparable with a baseline; None if none.

    `places` are the folders to search. Folders that cannot be read as runs are skipped.
    """
    before = read_run_json(baseline)
    candidates: list[tuple[str, Path]] = []
    for place in dict.fromkeys(map(real_path, places)):
        for path in sorted(file.parent for file in place.glob(f"*/{RUN}")):
            try:
                run = read_run_json(path)
            except SettingsError:
                continue
            if run.get("status") != "complete" or run.get("model") != model:
                continue
            if path == real_path(baseline) or any(
                difference.unlike for difference in differences_between(before, run)
            ):
                continue
            candidates.append((str(run.get("end")), path))
    return max(candidates)[1] if candidates else None
