"""The facts about a run: the content of its `run.json`, and which models answered it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results.record import check_schema
from pytest_tablebench.util.entries import listing, parsed_json
from pytest_tablebench.util.names import shortened

SEPARATOR = "; "
"""Between the parts of a name: `model m-1; provider DeepInfra; fingerprint fp_1`."""


def served_name(model: str | None, provider: str | None, fingerprint: str | None) -> str | None:
    """Return the name of what answered; None if the reply says nothing."""
    parts = {"model": model, "provider": provider, "fingerprint": fingerprint}
    texts = [f"{kind} {value.replace(SEPARATOR, ', ')}" for kind, value in parts.items() if value]
    return SEPARATOR.join(texts) or None


def short_names(names: Collection[str]) -> dict[str, str]:
    """Return, by name, the parts that not all of the names share; the name if it has no other."""
    parts = {name: name.split(SEPARATOR) for name in names}
    shared = set.intersection(*map(set, parts.values())) if len(parts) > 1 else set()
    shorter = {
        name: SEPARATOR.join(part for part in own_parts if part not in shared)
        for name, own_parts in parts.items()
    }
    kinds = {text.partition(" ")[0] for text in shorter.values()}
    if len(kinds) == 1 and not any(SEPARATOR in text for text in shorter.values()):
        shorter = {name: text.partition(" ")[2] for name, text in shorter.items()}
    return {name: text or name for name, text in shorter.items()}


def answered_by(counts: Mapping[str, int]) -> str | None:
    """Return a line if more than one model, provider or version answered; else None."""
    total = sum(counts.values())
    if len(counts) < 2 or not total:
        return None
    names = short_names(counts)
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    parts = [f"{names[name]} {100 * count / total:.0f} %" for name, count in ranked]
    return f"answered by {', '.join(parts)}"


Entries = Mapping[str, Any]
ByName = Mapping[str, Entries]
"""Entries by name, for example by dataset."""


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """The facts about a run. A fact that an older or interrupted run lacks has its default.

    Docs and schema of `run.json` say what each fact means. `entries` is its content unchanged, for
    code that goes over all options, and for a file written again.
    """

    entries: Entries = field(default_factory=dict, repr=False)
    # What ran.
    model: str = "unknown model"
    model_file: Entries | None = None
    judge: str | None = None
    judge_params: Entries = field(default_factory=dict)
    judge_prompts: Entries = field(default_factory=dict)
    compat: str | None = None
    structure: str | None = None
    seed: int | None = None
    repeats: int | None = None
    grid: Entries = field(default_factory=dict)
    by_dataset: ByName = field(default_factory=dict)
    datasets: ByName = field(default_factory=dict)
    missing: Entries = field(default_factory=dict)
    data: str | None = None
    named_by: Sequence[str] = ()
    selected_by: Sequence[str] = ()
    prompts_folder: str | None = None
    shots: Any = None
    thresholds: Entries = field(default_factory=dict)
    gates: Sequence[str | Entries] = ()
    baseline: str | None = None
    open_weights: str | None = None
    versions: Entries = field(default_factory=dict)
    host: Entries = field(default_factory=dict)
    # Its calls.
    api_base: str | None = None
    params: Entries = field(default_factory=dict)
    params_sent: Entries | None = None
    params_dropped: Entries = field(default_factory=dict)
    reasoning_tokens: int | None = None
    extend_cut: int | None = None
    fresh: str | None = None
    oldest_answer: str | None = None
    store: str | None = None
    server_check: Entries = field(default_factory=dict)
    served: Entries = field(default_factory=dict)
    deprecation_date: str | None = None
    judge_deprecation_date: str | None = None
    # How far it came.
    status: str = "unknown"
    exit_code: int | None = None
    ended: str | None = None
    start: str | None = None
    end: str | None = None
    cases_planned: int | None = None
    cases_recorded: int | None = None
    cases_saved: int = 0
    cases_extended: int | None = None
    # What it cost.
    calls_paid: int | None = None
    calls_repeated: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    thinking_tokens: int | None = None
    cost_usd: float | None = None
    store_hits: int = 0
    newest_stored: str | None = None
    # Where it comes from.
    shard: str | None = None
    shards: Mapping[str, Sequence[int]] = field(default_factory=dict)
    does_not_apply: ByName = field(default_factory=dict)
    """Of a run in `merged_from`: the numbers of cases by dataset and reason."""
    merged_from: Sequence[Entries] | None = None
    rejudged: Entries = field(default_factory=dict)
    corrections: Entries = field(default_factory=dict)
    imported: Entries = field(default_factory=dict)

    @classmethod
    def from_json(cls, entries: Mapping[str, Any], file: str = "run.json") -> RunFacts:
        """Return the facts in the content of a `run.json`.

        Raises `SettingsError` that names the file and the entry for a value of the wrong type.
        """
        values = {}
        for name, (kind, is_valid) in _CHECKS.items():
            value = entries.get(name)
            if value is None:
                continue
            if not is_valid(value):
                raise SettingsError(
                    f"{file}: {name} is {shortened(repr(value), 60)}, not {kind}; "
                    f"correct the file or choose another run"
                )
            values[name] = value
        return cls(entries=entries, **values)

    @classmethod
    def from_text(cls, text: bytes | str, file: str = "run.json") -> RunFacts:
        """Return the facts in the text of a `run.json`.

        Raises `SettingsError` as `entries_of_file` and `from_json` do.
        """
        return cls.from_json(entries_of_file(text, file), file)

    @property
    def is_complete(self) -> bool:
        """Whether the run recorded all its planned cases."""
        return self.status == "complete"

    @property
    def is_running(self) -> bool:
        """Whether the run still writes its folder, or was killed while it did."""
        return self.status == "running"

    @cached_property
    def started(self) -> datetime:
        """When the run started, in UTC. Raises `DataError` if that is not recorded."""
        try:
            start = datetime.fromisoformat(self.start or "")
            return start.astimezone(UTC) if start.tzinfo else start.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            raise DataError(
                "run.json has no start, so the run has no place in the history"
            ) from None

    @property
    def version(self) -> str | None:
        """The version of this package that made the run."""
        version = self.versions.get("pytest-tablebench")
        return None if version is None else str(version)

    @property
    def parameters(self) -> Entries:
        """The parameters of its calls, as sent if that is recorded."""
        return self.params_sent or self.params

    def files(self, dataset: str) -> Entries | None:
        """The digests of a dataset's files; None if they are not recorded."""
        files = self.datasets.get(dataset, {}).get("files")
        return files if isinstance(files, Mapping) else None

    def notes(self, dataset: str) -> list[Any]:
        """Return the notes on a dataset's files."""
        return listing(self.datasets.get(dataset, {}).get("notes"))

    @property
    def problems(self) -> dict[str, list[Any]]:
        """The rows that could not be used, by dataset."""
        return {name: listing(entry.get("problems")) for name, entry in self.datasets.items()}

    @property
    def inapplicable(self) -> dict[str, Entries]:
        """The numbers of cases that do not apply by reason, for each dataset with some."""
        counts = {name: entry.get("does_not_apply") for name, entry in self.by_dataset.items()}
        return {name: entry for name, entry in counts.items() if entry and _is_entries(entry)}

    @property
    def overlay(self) -> str | None:
        """The digest of the corrections of the gold; None without any."""
        digest = self.corrections.get("digest")
        return digest if isinstance(digest, str) else None

    @property
    def selection_text(self) -> str:
        """A sentence if the run asked only some of the cases; else empty."""
        options = [*self.selected_by]
        if self.shard is not None:
            options.insert(0, f"part {self.shard}")
        return f"a selection ({', '.join(options)}): other cases were not asked" if options else ""

    @property
    def imported_text(self) -> str:
        """What the run was imported from, and which facts are unknown; empty if not imported."""
        if not self.imported:
            return ""
        entries = (listing(self.imported.get(name)) for name in ("libraries", "unknown"))
        texts = [", ".join(str(x) for x in names) for names in entries]
        return f"imported from {texts[0] or '?'}" + (f"; unknown: {texts[1]}" if texts[1] else "")


def entries_of_file(text: bytes | str, file: str) -> Entries:
    """Return the entries of a JSON file of a run.

    Raises `SettingsError` for a damaged file and for one of a newer schema.
    """
    try:
        entries = parsed_json(text)
    except ValueError:
        raise SettingsError(f"{file} cannot be read: it is torn or damaged") from None
    if not isinstance(entries, dict):
        raise SettingsError(f"{file} is not a JSON object; choose the folder of another run")
    check_schema(entries, file)
    return entries


def _is_entries(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_by_name(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_entries, value.values()))


def _is_gate(value: object) -> bool:
    if not isinstance(value, Mapping):
        return isinstance(value, str)
    interval = value.get("interval")
    is_interval = interval is None or (isinstance(interval, list) and len(interval) == 2)
    has_result = isinstance(value.get("gate"), str) and {"state", "bound"} <= value.keys()
    return is_interval and has_result


def _is_number(value: object) -> bool:
    return type(value) is float or _is_whole(value)


def _is_whole(value: object) -> bool:
    return type(value) is int and abs(value) < 2**63


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("a text", lambda value: isinstance(value, str)),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "int": ("a whole number", _is_whole),
    "float": ("a number", _is_number),
    "Sequence[str]": (
        "a list of texts",
        lambda value: isinstance(value, list) and all(isinstance(text, str) for text in value),
    ),
    "Sequence[str | Entries]": (
        "a list of gates, each a text or a result with gate, state and bound",
        lambda value: isinstance(value, list) and all(map(_is_gate, value)),
    ),
    "Sequence[Entries]": (
        "a list of objects",
        lambda value: isinstance(value, list) and all(map(_is_entries, value)),
    ),
    "Mapping[str, Sequence[int]]": (
        "an object of lists of whole numbers",
        lambda value: (
            _is_entries(value)
            and all(
                isinstance(counts, list) and all(isinstance(count, int) for count in counts)
                for counts in value.values()
            )
        ),
    ),
    "Entries": ("an object", _is_entries),
    "ByName": ("an object of objects", _is_by_name),
    "Any": ("", lambda _: True),
}
_CHECKS = {
    entry.name: _KINDS[str(entry.type).removesuffix(" | None")]
    for entry in fields(RunFacts)
    if entry.name != "entries"
}
