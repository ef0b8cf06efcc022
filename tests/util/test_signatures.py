"""What is registered is called as its kind is, or refused with its name and file."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.registry import Registry

LINE = inspect.currentframe().f_lineno  # type: ignore[union-attr]


def two_texts(prediction: str, reference: str) -> Any:
    """Not a metric: it has no `compat`."""


def number(prediction: str, references: list[str], **_: object) -> float:
    return float(prediction in references)


class Metric:
    def __call__(self, prediction: str, references: list[str], *, compat: str) -> Any:
        """A metric."""


def registered(kind: str, *part: object) -> Registry:
    """Return a registry after another package has registered a part."""
    plugin = SimpleNamespace(__module__="elsewhere")
    implementation = SimpleNamespace(
        plugin=plugin, function=lambda register: register(*part), argnames=["register"]
    )
    hook = SimpleNamespace(get_hookimpls=lambda: [implementation])
    return Registry.from_hooks(
        SimpleNamespace(**{f"pytest_tablebench_register_{kind}": hook}), [kind]
    )


@pytest.mark.parametrize(
    ("kind", "part", "problem"),
    [
        (
            "metric",
            two_texts,
            f"metric 'mine' ({__file__}:{LINE + 3}): it takes (prediction: 'str', reference: "
            "'str') and is called with (prediction, references, *, compat, **context): got an "
            "unexpected keyword argument 'compat'",
        ),
        (
            "metric",
            number,
            f"metric 'mine' ({__file__}:{LINE + 7}): it returns float, but must return a Score",
        ),
        ("metric", 0.5, "metric 'mine': it is float, which cannot be called"),
        ("serializer", lambda: "", "it takes () and is called with (table): too many positional"),
        ("perturbation", lambda table: table, "(table, *, seed, **arguments): got an unexpected"),
        ("provider", lambda model: model, "is called with (model, settings): too many positional"),
    ],
)
def test_what_cannot_be_called_is_refused_when_it_is_registered(
    kind: str, part: object, problem: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        registered(kind, "mine", part)
    assert problem in str(raised.value)


def of_context(prediction: str, references: list[str], *, unit: str, **_: object) -> Any:
    """A metric of datasets whose examples have a unit."""


@pytest.mark.parametrize("part", [Metric(), lambda *_, **__: None, of_context])
def test_what_can_be_called_is_taken(part: object) -> None:
    assert registered("metric", "mine", part).metrics == {"mine": part}


def test_a_function_without_a_signature_is_taken() -> None:
    assert registered("serializer", "mine", str).serializers == {"mine": str}


def test_a_strategy_has_a_name_and_a_conversation() -> None:
    with pytest.raises(SettingsError, match=r"a strategy.* has no name: give it a text as `name`"):
        registered("strategy", SimpleNamespace(name=None))
    with pytest.raises(SettingsError, match=r"strategy 'mine'.*: it has no converse\(task\)"):
        registered("strategy", SimpleNamespace(name="mine"))
    with pytest.raises(SettingsError, match=r"'mine'.*: converse: it takes \(\) and is called"):
        registered("strategy", SimpleNamespace(name="mine", converse=lambda: None))
