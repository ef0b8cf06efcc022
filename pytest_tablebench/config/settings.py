"""What a run was asked to do: options and ini keys, parsed and checked once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from pytest_tablebench.config.addresses import address_fault, header_fault, without_credentials
from pytest_tablebench.config.compat import COMPAT_MODES, Compat, check_compat
from pytest_tablebench.config.options import DEFAULT_MODEL, OPTIONS, Option
from pytest_tablebench.errors import SettingsError, UnknownNameError
from pytest_tablebench.util.names import printable, split_names, unknown_name

__all__ = ["DEFAULT_MODEL", "OPTIONS", "Option", "Settings", "read_settings", "without_credentials"]

Demos = Literal["perturbed", "fixed"]
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
DEMOS: tuple[Demos, ...] = get_args(Demos)
MODALITIES = ("text", "image", "image_text")


@dataclass(frozen=True)
class Settings:
    """The options of one run. None stands for the default named in `OPTIONS`."""

    models: tuple[str, ...] = (DEFAULT_MODEL,)
    datasets: tuple[str, ...] | None = None
    serializers: tuple[str, ...] | None = None
    perturbations: tuple[str, ...] | None = None
    strategies: tuple[str, ...] | None = None
    modalities: tuple[str, ...] | None = None
    judge: str | None = None
    limit: int | Literal["all"] | None = None
    sample: int | None = None
    shots: int | None = None
    demos: Demos = "perturbed"
    configs_per_example: int | None = None
    seed: int = 0
    compat: Compat = "fixed"
    api_base: str | None = field(default=None, repr=False)
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timeout: float = 120.0
    max_reply: int = 1_000_000
    retries: int = 5
    patience: float = 180.0
    connections: int = 32
    repeats: int = 1
    store: Path | None = None
    stored: bool = True
    """Whether answers are kept beyond the run; `store` is where, None the user's cache folder."""
    readonly_stores: tuple[Path, ...] = ()
    replay: bool = False
    plan: bool = False
    max_cost: float | None = None
    gates: tuple[str, ...] = ()
    gate_point: bool = False
    baseline: Path | None = None
    allow_unlike: bool = False
    stop_rule: str | None = None
    snapshot: bool = False
    allure: str | None = None
    page: bool = True
    data: Path | None = None
    results: Path | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    model_given: bool = False
    explicit: bool = False
    """Whether anything was asked for at all, be it in a configuration file."""
    given: frozenset[str] = frozenset()
    """Keys of the options on the command line: such a session is meant as a run of ours."""

    @property
    def request_params(self) -> dict[str, Any]:
        """Parameters sent with every call: greedy, 512 tokens (spec: torr.md section 1)."""
        return {"temperature": 0, "max_tokens": 512} | dict(self.params)

    def data_folder(self) -> Path:
        """Return the folder holding one folder per dataset."""
        if self.data is not None:
            return self.data
        import platformdirs

        return platformdirs.user_cache_path("pytest-tablebench") / "data"

    def store_folder(self) -> Path | None:
        """Return the folder answers are kept in, None where they are not kept."""
        if not self.stored or self.store is not None:
            return self.store
        import platformdirs

        return platformdirs.user_cache_path("pytest-tablebench") / "answers"


def read_settings(get: Callable[[str], Any], base: Path, given: Iterable[str] = ()) -> Settings:
    """Build settings from raw values by ini key (None where unset); paths relative to `base`.

    `given` are the keys whose values the command line gives. Raises `SettingsError` naming the
    option, its value and what it takes.
    """
    raw = {option.key: get(option.key) for option in OPTIONS}
    raw = {key: value for key, value in raw.items() if value not in (None, [], "")}
    defaults = Settings()
    return Settings(
        models=_texts(raw, "bench_model") or defaults.models,
        datasets=_names(raw, "bench_dataset"),
        serializers=_names(raw, "bench_serializer"),
        perturbations=_names(raw, "bench_perturbation"),
        strategies=_names(raw, "bench_strategy"),
        modalities=_modalities(raw),
        judge=_judge(raw),
        limit=_limit(raw),
        sample=_number(raw, "bench_sample", int, 1, "a whole number from 1"),
        shots=_number(raw, "bench_shots", int, 0, "a whole number from 0"),
        demos=_demos(raw),
        configs_per_example=_number(
            raw, "bench_configs_per_example", int, 1, "a whole number from 1"
        ),
        seed=_or(_number(raw, "bench_seed", int, None, "a whole number"), defaults.seed),
        compat=_compat(raw),
        api_base=_api_base(raw),
        params=_params(raw),
        timeout=_or(
            _number(raw, "bench_timeout", float, 0.001, "seconds above 0"), defaults.timeout
        ),
        max_reply=_max_reply(raw) or defaults.max_reply,
        retries=_or(
            _number(raw, "bench_retries", int, 0, "a whole number from 0"), defaults.retries
        ),
        patience=_or(
            _number(raw, "bench_patience", float, 0.001, "seconds above 0"), defaults.patience
        ),
        connections=_or(
            _number(raw, "bench_connections", int, 1, "a whole number from 1"),
            defaults.connections,
        ),
        repeats=_or(
            _number(raw, "bench_repeats", int, 1, "a whole number from 1"), defaults.repeats
        ),
        store=_folder(base, raw["bench_store"]) if _stored(raw) and "bench_store" in raw else None,
        stored=_stored(raw),
        readonly_stores=tuple(_folder(base, text) for text in _texts(raw, "bench_store_readonly")),
        replay=_switch(raw, "bench_replay"),
        plan=_switch(raw, "bench_plan"),
        max_cost=_number(raw, "bench_max_cost", float, 0.0, "US dollars from 0"),
        gates=_texts(raw, "bench_gate"),
        gate_point=_switch(raw, "bench_gate_point"),
        baseline=_folder(base, raw["bench_baseline"]) if "bench_baseline" in raw else None,
        allow_unlike=_switch(raw, "bench_allow_unlike"),
        snapshot=_switch(raw, "bench_snapshot"),
        stop_rule=_stop_rule(raw),
        page=not _switch(raw, "bench_no_page"),
        allure=_choice(raw, "bench_allure", ("auto", "all", "wrong", "summary")),
        data=_data(raw, base),
        results=_folder(base, raw["bench_results"]) if "bench_results" in raw else None,
        thresholds=_thresholds(raw),
        model_given="bench_model" in raw,
        explicit=bool(raw),
        given=frozenset(given),
    )


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _texts(raw: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = raw.get(key, [])
    texts = [value] if isinstance(value, str) else list(value)
    cleaned = [str(text).strip() for text in texts]
    if not all(cleaned):
        raise SettingsError(f"{_flag(key)} needs a name, not an empty text")
    return tuple(dict.fromkeys(cleaned))


def _names(raw: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    if key not in raw:
        return None
    names = [name for text in _texts(raw, key) for name in split_names(text)]
    if not names:
        raise SettingsError(f"{_flag(key)} names nothing; write names separated by commas")
    return tuple(dict.fromkeys(names))


def _judge(raw: Mapping[str, Any]) -> str | None:
    if "bench_judge" not in raw:
        return None
    name = str(raw["bench_judge"]).strip()
    if not name:
        raise SettingsError("--bench-judge needs the name of a model, not an empty text")
    return name


def _modalities(raw: Mapping[str, Any]) -> tuple[str, ...] | None:
    names = _names(raw, "bench_modality")
    for name in names or ():
        if name not in MODALITIES:
            raise SettingsError(f"--bench-modality: {unknown_name('modality', name, MODALITIES)}")
    return names


def _number(
    raw: Mapping[str, Any], key: str, kind: type[int] | type[float], low: float | None, what: str
) -> Any:
    if key not in raw:
        return None
    text = str(raw[key])
    try:
        value = kind(text)
        if value != value or abs(value) == float("inf") or (low is not None and value < low):  # noqa: PLR0124 - NaN differs from itself
            raise ValueError
    except ValueError:
        raise SettingsError(f"{_flag(key)} takes {what}, not {printable(text, 40)!r}") from None
    return value


def _max_reply(raw: Mapping[str, Any]) -> Any:
    """Read the limit of a reply; above it a line of the store could become too long."""
    what = "bytes from 1000 to 2000000"
    value = _number(raw, "bench_max_reply", int, 1000, what)
    if value is not None and value > 2_000_000:
        raise SettingsError(f"--bench-max-reply takes {what}, not {value}")
    return value


def _limit(raw: Mapping[str, Any]) -> int | Literal["all"] | None:
    if str(raw.get("bench_limit")).strip() == "all":
        return "all"
    limit: int | None = _number(raw, "bench_limit", int, 1, "all or a whole number from 1")
    if limit is not None and "bench_sample" in raw:
        raise SettingsError(
            "--bench-sample draws from all examples, so it does not go with --bench-limit: give one"
        )
    return limit


def _folder(base: Path, text: object) -> Path:
    # A shell leaves the ~ of --bench-data=~/tables alone.
    return base / Path(str(text)).expanduser()


def _stored(raw: Mapping[str, Any]) -> bool:
    return raw.get("bench_store") != "none"


def _switch(raw: Mapping[str, Any], key: str) -> bool:
    """Read an option without a value; as an ini key it is yes or no."""
    value = raw.get(key, False)
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in {"true", "yes", "on", "1"}:
        return True
    if text in {"false", "no", "off", "0"}:
        return False
    raise SettingsError(f"{key} is true or false, not {printable(str(value), 40)!r}")


def _choice(raw: Mapping[str, Any], key: str, known: tuple[str, ...]) -> str | None:
    text = raw.get(key)
    if text is not None and text not in known:
        raise SettingsError(f"{_flag(key)}: {unknown_name('mode', str(text), known)}")
    return None if text is None else str(text)


def _stop_rule(raw: Mapping[str, Any]) -> str | None:
    """Read the rule; without a name it is the one that fits what gates judge."""
    rule = _choice(raw, "bench_stop_when_decided", ("auto", "passes", "anytime", "point"))
    if rule != "auto":
        return rule
    return "point" if _switch(raw, "bench_gate_point") else "passes"


def _demos(raw: Mapping[str, Any]) -> Demos:
    text = str(raw.get("bench_demos", DEMOS[0]))
    for mode in DEMOS:
        if text == mode:
            return mode
    raise SettingsError(f"--bench-demos: {unknown_name('mode', text, DEMOS)}")


def _compat(raw: Mapping[str, Any]) -> Compat:
    try:
        return check_compat(str(raw.get("bench_compat", COMPAT_MODES[0])))
    except SettingsError as error:
        raise SettingsError(f"--bench-compat: {error}") from None


def _api_base(raw: Mapping[str, Any]) -> str | None:
    if "bench_api_base" not in raw:
        return None
    url = str(raw["bench_api_base"])
    fault = address_fault(url)
    if fault is not None:
        raise SettingsError(f"--bench-api-base {fault}")
    return url


def _params(raw: Mapping[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = {}
    for text in _texts(raw, "bench_param"):
        from pytest_tablebench.config.parameters import RESERVED
        from pytest_tablebench.config.secrets import BY_PLACE, secret_name

        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise SettingsError(f"--bench-param takes key=value, not {printable(name, 40)!r}")
        try:
            params[name] = json.loads(value)
        except ValueError:
            params[name] = value
        if name in BY_PLACE:
            _check_placed(name, params[name])
            continue
        secret = secret_name(name, params[name])
        if secret is not None:
            # Parameters are written into the run folder; keys must never be.
            inside = "" if secret == name else f": {printable(secret, 40)}"
            raise SettingsError(
                f"--bench-param {printable(name, 40)}{inside}: keys are never taken here; "
                f"set the provider's environment variable (OPENAI_API_KEY, ...)"
            )
        if name in RESERVED:
            raise SettingsError(f"--bench-param {name}: is set by the run itself")
    return params


def _check_placed(name: str, value: object) -> None:
    """Raise `SettingsError` for headers or a query that cannot be sent; shows no value."""
    flag = f"--bench-param {name}"
    if not isinstance(value, Mapping) or not value:
        raise SettingsError(f'{flag} takes an object of JSON, as in {name}={{"Name": "value"}}')
    for key, content in value.items():
        if name == "extra_headers":
            fault = "no text" if not isinstance(content, str) else header_fault(content)
            fault = fault or (None if _HEADER_NAME.fullmatch(key) else "a name that is none")
            if fault is not None:
                raise SettingsError(
                    f"{flag}: {printable(key, 40)} has {fault}, which HTTP cannot send"
                )


def _data(raw: Mapping[str, Any], base: Path) -> Path | None:
    if "bench_data" not in raw:
        return None
    folder = _folder(base, raw["bench_data"])
    if not folder.is_dir():
        raise SettingsError(
            f"--bench-data: {printable(str(folder))} is no folder; give the folder that holds one "
            f"folder per dataset"
        )
    return folder


def _thresholds(raw: Mapping[str, Any]) -> dict[str, float]:
    thresholds = {}
    for text in _texts(raw, "bench_threshold"):
        name, _, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0.0 <= number <= 1.0:
            raise SettingsError(
                f"--bench-threshold takes DATASET=number from 0 to 1, not {printable(text, 60)!r}"
            )
        thresholds[name.strip()] = number
    return thresholds


def check_names(
    kind: str, names: tuple[str, ...] | None, known: Mapping[str, Any], flag: str | None = None
) -> None:
    """Raise `UnknownNameError` for the first name that is not registered."""
    for name in names or ():
        if name not in known:
            raise UnknownNameError(
                f"{flag or f'--bench-{kind}'}: {unknown_name(kind, name, known)}"
            )
