"""What differs between two runs in addition to their answers: the one list of it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pytest_tablebench.config.options import OPTIONS, Differs, Kind, Verdict
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.folder import RUN, read_facts
from pytest_tablebench.results.run_facts import RunFacts, short_names
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import shortened

Category = Literal["ours", "theirs", "package", "data"]

_CATEGORIES: Mapping[Kind, Category] = {
    "data": "data",
    "corrections": "data",
    "package": "package",
    "server": "theirs",
}

_PACKAGES = ("pytest-tablebench", "spacy")

_JUDGES = {
    "judge_params": Differs("refuse", "the judge had other parameters", kind="judge"),
    "judge_prompts": Differs("refuse", "the judge had another prompt", kind="judge"),
}
_PART = Differs("refuse", "another part of the metric is the score", "the metric's own")
_THRESHOLD = Differs("refuse", "other scores count as right")
_CORRECTIONS = Differs(
    "note",
    "figures are by the published gold; `tablebench rejudge` gives all runs the same corrections",
    "none",
    kind="corrections",
)
_DATA = Differs("refuse", "the data is not the same", kind="data")
_PACKAGE = Differs("note", "scores may differ for that reason alone", kind="package")
_SERVED = Differs("note", "another model, provider or version answered", kind="server")
_SENT = Differs("note", "", kind="parameter")

_MISSING = object()
"""The value of a setting that a run did not record."""

Facts = Mapping[str, Any]
"""The content of a `run.json`."""


@dataclass(frozen=True)
class Difference:
    """A difference between runs.

    `name` is the place in run.json (`params.temperature`, `datasets.wikitq.files`), or a fact.
    `values` has one text a run, None for a run without the fact. `unlike` is whether the runs
    therefore measure different things.
    """

    name: str
    kind: Kind
    values: tuple[str | None, ...]
    meaning: str = ""
    unlike: bool = False

    @property
    def category(self) -> Category:
        """Whether the project, the provider, this package or the data changed."""
        return _CATEGORIES.get(self.kind, "ours")

    @property
    def before(self) -> str:
        """The value of the first run."""
        return self.values[0] or ""

    @property
    def after(self) -> str:
        """The value of the last run."""
        return self.values[-1] or ""

    @property
    def text(self) -> str:
        """The difference in words, such as `package pytest-tablebench: 0.1.0 to 0.2.0`."""
        first, _, rest = self.name.partition(".")
        name = rest if first in {"versions", "params", "params_sent"} else self.name
        if first == "datasets" and rest:
            dataset, _, part = rest.rpartition(".")
            name = f"of {dataset}, {part}"
        name += " as sent" if first == "params_sent" else ""
        name = name if name.startswith(self.kind) else f"{self.kind} {name}"
        values = f"{shortened(self.before, 80)} to {shortened(self.after, 80)}"
        return f"{name}: {values}"


def differences_between(*runs: RunFacts, of_one_run: bool = False) -> tuple[Difference, ...]:
    """Return the differences between the facts of two or more runs.

    A setting that a run did not record (an interrupted run, an older version) is no difference.
    With `of_one_run` the runs are to be parts of one run, which must agree in more settings.
    """
    differences: list[Difference] = []
    contents = [run.entries for run in runs]
    for option in OPTIONS:
        if option.recorded is None or option.differs.verdict == "ignore":
            continue
        differs = option.differs
        if of_one_run and option.of_one_run:
            differs = replace(differs, verdict="refuse")
        # Datasets may declare such an option: compare the values that were used, if recorded.
        entries = _entries(option.entry, runs) if option.by_dataset else None
        if entries is None:
            differences += _option(option.recorded, differs, contents)
        else:
            differences += _by_dataset(option.recorded, differs, entries)
    further_settings = {"part": _PART, "threshold": _THRESHOLD} if of_one_run else {"part": _PART}
    for name, differs in further_settings.items():
        differences += _by_dataset(name, differs, _entries(name, runs) or {})
    for name, differs in _JUDGES.items():
        differences += _each(name, differs, contents)
    differences += _data(runs)
    answering = [tuple(sorted(run.served)) or _MISSING for run in runs]
    names = short_names({name for keys in answering if isinstance(keys, tuple) for name in keys})
    served = [
        " + ".join(names[name] for name in keys) if isinstance(keys, tuple) else keys
        for keys in answering
    ]
    differences += _difference("served", _SERVED, served)
    verdict: Verdict = "refuse" if of_one_run else "note"
    overlays = [run.overlay for run in runs]
    differences += _difference("corrections", replace(_CORRECTIONS, verdict=verdict), overlays)
    for package in _PACKAGES:
        versions = [run.versions.get(package) or _MISSING for run in runs]
        differences += _difference(f"versions.{package}", _PACKAGE, versions)
    return tuple(sorted(differences, key=lambda difference: not difference.unlike))


def compared_facts(run: RunFacts) -> dict[str, Any]:
    """Return the entries of a run's facts that the list of differences reads.

    Addresses and digests of files are shortened to a digest.
    """
    places = {o.recorded for o in OPTIONS if o.recorded and o.differs.verdict != "ignore"}
    names = {path.partition(".")[0] for path in places} | {*_JUDGES, *_FURTHER}
    facts = {name: run.entries[name] for name in sorted(names & run.entries.keys())}
    if facts.get("api_base"):
        facts["api_base"] = digest_of(facts["api_base"])
    facts["datasets"] = {
        name: {
            key: digest_of(value) if isinstance(value, Mapping) else value
            for key, value in entry.items()
            if key not in _NOTES
        }
        for name, entry in run.datasets.items()
    }
    return facts


_FURTHER = ("by_dataset", "params_sent", "params_dropped", "corrections", "versions")
_NOTES = frozenset({"notes", "problems"})


def digest_of(value: object) -> str:
    """Return a short digest of a JSON value."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _difference(
    name: str, differs: Differs, values: Sequence[object], unset: str = ""
) -> Iterator[Difference]:
    """Yield the difference between values of runs, unless those that are recorded are equal."""
    none = unset or differs.unset
    texts = tuple(None if value is _MISSING else _shown(value, none) for value in values)
    if len({*texts} - {None}) > 1:
        is_unlike = differs.verdict == "refuse"
        yield Difference(name, differs.kind, texts, differs.meaning, is_unlike)


Entries = Mapping[str, Sequence[object]]
"""The values of a setting in the runs, by dataset."""


def _entries(key: str, runs: Sequence[RunFacts]) -> Entries | None:
    recorded = [run.by_dataset for run in runs]
    if not all(recorded):
        return None
    entries: dict[str, list[object]] = {}
    datasets = Counter(dataset for run in recorded for dataset in run)
    for dataset in sorted(name for name, count in datasets.items() if count > 1):
        if any(key not in mapping(run, dataset) for run in recorded if dataset in run):
            return None
        entries[dataset] = [mapping(run, dataset).get(key, _MISSING) for run in recorded]
    return entries


def _by_dataset(path: str, differs: Differs, entries: Entries) -> Iterator[Difference]:
    """Yield the differences between common datasets, with equal ones together."""
    datasets_of: dict[tuple[str, tuple[str | None, ...]], list[str]] = {}
    key = path.rpartition(".")[2]
    for dataset, values in entries.items():
        settings = [{} if value is _MISSING else {key: value} for value in values]
        for difference in _option(key, differs, settings):
            datasets_of.setdefault((difference.name, difference.values), []).append(dataset)
    for (name, texts), datasets in datasets_of.items():
        where = f" of {', '.join(datasets)}" if len(datasets) < len(entries) else ""
        full = f"{name.replace(key, path, 1)}{where}"
        yield Difference(full, differs.kind, texts, differs.meaning, differs.verdict == "refuse")


def _option(path: str, differs: Differs, runs: Sequence[Facts]) -> Iterator[Difference]:
    """Yield the differences of runs in an option, entry by entry if it has several."""
    *inside, key = path.split(".")
    values = [mapping(run, *inside).get(key, _MISSING) for run in runs]
    recorded = [value for value in values if value is not _MISSING]
    if recorded and all(isinstance(value, Mapping) for value in recorded):
        for name in sorted({name for value in recorded for name in value}):
            parts = [v if v is _MISSING else v.get(name) for v in values]
            yield from _difference(f"{path}.{name}", differs, parts, "not given")
    else:
        yield from _difference(path, differs, values)


def sent_differences(before: RunFacts, after: RunFacts) -> Iterator[Difference]:
    """Yield the parameters that were sent with other values, or in only one run.

    The meaning is why a run did not send a parameter that it was to send.
    """
    dropped = before.params_dropped, after.params_dropped
    sent = before.params_sent or {}, after.params_sent or {}
    for name in sorted({*sent[0], *sent[1], *dropped[0], *dropped[1]}) if all(sent) else ():
        values = [_shown(run[name], "null") if name in run else "not sent" for run in sent]
        reasons = [str(reasons[name]) for reasons in dropped if name in reasons]
        meaning = reasons[0] if len(reasons) == 1 else ""
        yield from _difference(f"params_sent.{name}", replace(_SENT, meaning=meaning), values)


def _each(path: str, differs: Differs, runs: Sequence[Facts]) -> Iterator[Difference]:
    """Yield the differences in the entries of a mapping, for entries of several runs."""
    facts = [mapping(run, *path.split(".")) for run in runs]
    for name in sorted({name for run in facts for name in run}):
        yield from _difference(
            f"{path}.{name}", differs, [run.get(name, _MISSING) for run in facts]
        )


def _shown(value: object, none: str = "none") -> str:
    if value is None:
        return none
    if isinstance(value, list):
        return ", ".join(sorted(map(str, value)))
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _data(runs: Sequence[RunFacts]) -> Iterator[Difference]:
    """Yield the differences in the digests and revisions of each common dataset."""
    for dataset in sorted({name for run in runs for name in run.datasets}):
        location = f"datasets.{dataset}"
        facts = [run.datasets.get(dataset, {}) for run in runs]
        for key in sorted({key for fact in facts for key in fact} - _NOTES):
            values = [fact.get(key, _MISSING) for fact in facts]
            maps = [value for value in values if isinstance(value, Mapping)]
            names = {name for value in maps for name in value}
            other = sorted(n for n in names if any(m.get(n) != maps[0].get(n) for m in maps))
            texts = [_digests(v, other) if isinstance(v, Mapping) and other else v for v in values]
            yield from _difference(f"{location}.{key}", _DATA, texts)


def _digests(values: Mapping[str, Any], names: Sequence[str]) -> str:
    return ", ".join(
        f"{name} {_shown(values[name])[:12]}" if name in values else f"no {name}" for name in names
    )


def check_alike(
    before: RunFacts,
    after: RunFacts,
    *,
    hint: str,
    of_one_run: bool = False,
    different_judges: bool = False,
) -> None:
    """Raise `SettingsError` with all differences that make two runs unlike.

    A different model is allowed unless `of_one_run`, another judge if `different_judges`. `hint`
    ends the message; it says what to do.
    """
    differences = differences_between(before, after, of_one_run=of_one_run)
    unlike = [
        difference
        for difference in differences
        if difference.unlike and not (different_judges and difference.kind == "judge")
    ]
    if unlike:
        named = "; ".join(
            f"{difference.name}: {shortened(difference.before, 120)} against "
            f"{shortened(difference.after, 120)} ({difference.meaning})"
            for difference in unlike
        )
        raise SettingsError(f"the runs are unlike: {named}. {hint}")


def latest_run(model: str, baseline: Path, places: Iterable[Path]) -> Path | None:
    """Return the newest finished run of a model that is comparable with a baseline; None if none.

    `places` are the folders to search. Folders that cannot be read as runs are skipped.
    """
    before = read_facts(baseline)
    candidates: list[tuple[str, Path]] = []
    for folder in dict.fromkeys(map(real_path, places)):
        for path in sorted(file.parent for file in folder.glob(f"*/{RUN}")):
            try:
                run = read_facts(path)
            except SettingsError:
                continue
            if not run.is_complete or run.model != model:
                continue
            if path == real_path(baseline) or any(
                difference.unlike for difference in differences_between(before, run)
            ):
                continue
            candidates.append((str(run.end), path))
    return max(candidates)[1] if candidates else None
