"""The settings of a run: options and ini keys, parsed and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pytest_tablebench.config.addresses import is_shared, without_credentials
from pytest_tablebench.config.axes import Axis
from pytest_tablebench.config.compat import Compat
from pytest_tablebench.config.options import DEFAULT_MODEL, OPTIONS
from pytest_tablebench.config.papers import (
    EXCLUDED,
    OVERRIDES,
    PAPER_SETTINGS,
    PaperSetting,
    PrintedPrompts,
)
from pytest_tablebench.config.parameters import BUDGET, EFFORT, effort_params
from pytest_tablebench.config.reading import RawOption, Shots
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import slug

Demos = Literal["perturbed", "fixed"]

USUAL_PARAMS: Mapping[str, Any] = {"temperature": 0, "max_tokens": 512}
"""Default parameters of a call."""


@dataclass(frozen=True)
class Settings:
    """The options of one run. None means the default named in `OPTIONS`."""

    models: tuple[str, ...] = (DEFAULT_MODEL,)
    datasets: tuple[str, ...] | None = None
    setting: str | None = None
    serializers: tuple[str, ...] | None = None
    perturbations: tuple[str, ...] | None = None
    strategies: tuple[str, ...] | None = None
    modalities: tuple[str, ...] | None = None
    judge: str | None = None
    meteor: bool = False
    structure: Literal["self", "gold", "both"] = "both"
    format_retries: int = 0
    turns: int | None = None
    prompts: PrintedPrompts | None = None
    limit: int | Literal["all"] | None = None
    sample: int | None = None
    shard: str | None = None
    shots: Shots | int | None = None
    small_pool: Literal["fewer", "skip"] = "fewer"
    demos: Demos = "perturbed"
    configs_per_example: int | None = None
    seed: int = 0
    compat: Compat = "fixed"
    api_base: str | None = field(default=None, repr=False)
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)
    context: int | None = None
    reasoning_tokens: int = 8192
    efforts: tuple[str, ...] | None = None
    effort_margin: float | None = None
    extend_cut: int | None = None
    timeout: float = 120.0
    max_reply: int = 1_000_000
    retries: int = 5
    patience: float = 180.0
    connections: int = 32
    callers: int | None = None
    executor: Literal["local", "dask", "batch"] = "local"
    transport: Literal["auto", "litellm", "direct"] = "auto"
    scheduler: str | None = field(default=None, repr=False)
    score_there: bool = False
    store_every: float = 30.0
    repeats: int = 1
    fresh: str | None = None
    max_age: float | None = None
    oldest: str | None = None
    """The time before which stored answers are not used, by `max_age`: ISO 8601 in UTC."""
    store: Path | str | None = None
    stored: bool = True
    """Whether answers are kept after the run, in `store` (None: the user's cache folder)."""
    readonly_stores: tuple[Path | str, ...] = ()
    replay: bool = False
    plan: bool = False
    plan_json: Path | None = None
    max_cost: float | None = None
    sandbox_container: str | None = None
    sandbox_unsafe: bool = False
    gates: tuple[str, ...] = ()
    gate_point: bool = False
    baseline: Path | None = None
    allow_unlike: bool = False
    different_judges: bool = False
    labels: Path | None = None
    judge_uncalibrated: bool = False
    stop_rule: str | None = None
    snapshot: bool = False
    snapshot_of: str | None = None
    snapshot_changes: Literal["count", "fail"] = "count"
    allure: str | None = None
    open_weights: Literal["yes", "no"] | None = None
    page: bool = True
    show: int | None = None
    corrections: Path | None = None
    data: Path | None = None
    results: Path | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    model_given: bool = False
    explicit: bool = False
    """Whether any option was given, on the command line or in a configuration file."""
    command_line_keys: frozenset[str] = frozenset()
    """Keys of the options on the command line; with any of them the session is a run."""

    def names_on(self, axis: Axis) -> tuple[str, ...]:
        """Return the names on an axis that options give; empty without the option."""
        return getattr(self, axis.plural, None) or ()

    @property
    def effort(self) -> str | None:
        """The effort of every request to a model under test; None without one, or with several."""
        return self.efforts[0] if self.efforts is not None and len(self.efforts) == 1 else None

    @property
    def has_several_efforts(self) -> bool:
        """Whether the effort is an axis, so that each case has its own."""
        return self.efforts is not None and len(self.efforts) > 1

    def request_params(
        self, declared: Mapping[str, Any] | None = None, *, judge: bool = False
    ) -> dict[str, Any]:
        """Return the parameters of a call: greedy, 512 tokens (spec: torr.md section 1).

        A dataset's declaration overrides them, and options override both. A parameter with the
        value None is not sent. The single effort of a run is one of them, but not for a judge.
        """
        effort = {} if judge or self.effort is None else effort_params(self.effort)
        params = {**USUAL_PARAMS, **(declared or {}), **effort, **self.params}
        return {name: value for name, value in params.items() if value is not None}

    def paper_setting(self, benchmark: str) -> PaperSetting | None:
        """Return the paper's setting for the datasets of a benchmark."""
        paper = None if self.setting is None else PAPER_SETTINGS[self.setting]
        return paper if paper is not None and paper.benchmark == benchmark else None

    def for_benchmark(self, benchmark: str) -> Settings:
        """Return the settings with the paper's values for all options that are not given."""
        paper = self.paper_setting(benchmark)
        if paper is None:
            return self
        kept = {"params"} if self.sample is None else {"params", "limit"}
        names = [name for name in OVERRIDES if name not in kept and getattr(self, name) is None]
        values = {name: getattr(paper, name) for name in names}
        return replace(self, **values, params={**paper.params, **self.params})

    @property
    def compares_snapshots(self) -> bool:
        """Whether answers are compared with snapshots."""
        return self.snapshot or self.snapshot_of is not None or self.snapshot_changes == "fail"

    def data_folder(self) -> Path:
        """Return the folder that contains one folder per dataset."""
        if self.data is not None:
            return self.data
        import platformdirs

        return platformdirs.user_cache_path("pytest-tablebench") / "data"

    def store_folder(self) -> Path | None:
        """Return the folder of the store, or None without a store.

        For a shared store it is the folder of this machine that copies it.
        """
        if not self.stored or self.store is not None:
            return None if self.store is None else _local(self.store)
        import platformdirs

        return platformdirs.user_cache_path("pytest-tablebench") / "answers"

    def store_place(self) -> Path | str | None:
        """Return the folder of the store, or the address of a shared store."""
        return self.store if isinstance(self.store, str) else self.store_folder()

    def readonly_folders(self) -> tuple[Path, ...]:
        """Return the folders of the stores that are only read."""
        return tuple(map(_local, self.readonly_stores))

    def shared_stores(self) -> list[tuple[str, Path, bool]]:
        """Return each shared store's address, its local folder, and whether answers are written."""
        written = [(self.store, True)] if isinstance(self.store, str) else []
        others = [(store, False) for store in self.readonly_stores if isinstance(store, str)]
        return [(address, shared_folder(address), write) for address, write in [*written, *others]]


def shared_folder(address: str) -> Path:
    """Return the folder of this machine that copies a shared store."""
    import platformdirs

    return platformdirs.user_cache_path("pytest-tablebench") / "shared" / slug(address, 60)


def kept_store(kept: object) -> Path | str | None:
    """Return the store of a run from the content of its run.json, or None without one."""
    if not isinstance(kept, str) or kept == "none":
        return None
    return kept if is_shared(kept) else Path(kept)


def _local(store: Path | str) -> Path:
    return store if isinstance(store, Path) else shared_folder(store)


def read_settings(
    get: Callable[[str], Any], base: Path, command_line_keys: Iterable[str] = ()
) -> Settings:
    """Build settings from raw values by ini key (None where unset); paths relative to `base`.

    `command_line_keys` are the keys of the options on the command line. Raises `SettingsError`
    that names the option, its value and the expected form.
    """
    raw = {option: get(option.key) for option in OPTIONS}
    raw = {option: value for option, value in raw.items() if value not in (None, [], "")}
    values = {
        option.setting: option.read(RawOption(option.flag, value, base))
        for option, value in raw.items()
    }
    command_line_keys = frozenset(command_line_keys)
    if "bench_setting" in command_line_keys:
        _drop_overridden(values, command_line_keys)
    if isinstance(values.get("limit"), int) and "sample" in values:
        raise SettingsError(
            "--bench-sample draws from all examples, so it excludes --bench-limit: give one"
        )
    for name in (EFFORT, BUDGET) if "efforts" in values else ():
        if name in values.get("params", {}):
            raise SettingsError(
                f"--bench-effort and --bench-param {name} set the same: give one of them"
            )
    _check_executor(values)
    if "plan_json" in values:
        values["plan"] = True
    if "max_age" in values:
        oldest = datetime.now(UTC) - timedelta(seconds=values["max_age"])
        values["oldest"] = oldest.isoformat(timespec="microseconds")
    return Settings(
        **values,
        stored="store" not in values or values["store"] is not None,
        model_given="models" in values,
        explicit=bool(values),
        command_line_keys=command_line_keys,
    )


def _drop_overridden(values: dict[str, Any], command_line_keys: frozenset[str]) -> None:
    """Drop values of the settings file that a paper's setting on the command line replaces."""
    paper = PAPER_SETTINGS[values["setting"]]
    keys = {option.setting: option.key for option in OPTIONS}
    for name in OVERRIDES:
        if keys[name] in command_line_keys or name not in values or not getattr(paper, name):
            continue
        if name != "params":
            del values[name]
            continue
        values[name] = {
            key: content for key, content in values[name].items() if key not in paper.params
        }
    for name in EXCLUDED:
        if keys[name] not in command_line_keys:
            values.pop(name, None)


def _check_executor(values: Mapping[str, Any]) -> None:
    """Raise `SettingsError` for options that must not reach a cluster, or that need one."""
    if values.get("executor", "local") == "dask":
        base = values.get("api_base")
        if base is not None and without_credentials(base) != base:
            raise SettingsError(
                "--bench-api-base with a password, a key or a query would go to every machine of "
                "the cluster: set it in the workers' own environment (OPENAI_API_BASE, ...)"
            )
        return
    for name in ("scheduler", "score_there"):
        if values.get(name):
            flag = f"--bench-{name.replace('_', '-')}"
            raise SettingsError(f"{flag} needs --bench-executor=dask")
