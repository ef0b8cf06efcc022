"""The table of options: whoever reads it finds in it all that is to be known of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace as Run
from typing import Any, cast

import pytest

from pytest_tablebench.claims.differences import check_alike, differences_between
from pytest_tablebench.claims.drift._entries import our_changes, setup_of
from pytest_tablebench.claims.history._panels import changes_between
from pytest_tablebench.claims.migration._types import differences_of
from pytest_tablebench.config.options import OPTIONS, Option
from pytest_tablebench.config.settings import Settings, read_settings
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.papers.runs import differences
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.writer import RunWriter
from tests.support.present import present

RECORDED = [option for option in OPTIONS if option.recorded is not None]


def by_flag(option: Option) -> str:
    return option.flag


def run_json(**settings: Any) -> dict[str, Any]:
    """What `run.json` says of a run that was asked for with these settings."""
    writer = RunWriter(Settings(**settings), {"m": Path("run")})
    grid = {"serializers": ["html"], "perturbations": ["none"]}
    writer.learn({"grid": grid, "datasets": {"toy": {"files": {"a": "0"}, "problems": []}}})
    return dict(writer.run_facts("m").entries)


def with_another(run: dict[str, Any], place: str) -> dict[str, Any]:
    """The same run with another value in one place."""
    key, _, rest = place.partition(".")
    if rest:
        return {**run, key: with_another(run[key], rest)}
    value = run[key]
    if isinstance(value, dict):
        return {**run, key: {**value, "other": {"files": {}}}}
    if type(value) is int or key == "extend_cut":
        return {**run, key: 987}
    return {**run, key: ["other"] if isinstance(value, list) else "other"}


def test_no_name_is_used_twice():
    assert len({option.key for option in OPTIONS}) == len(OPTIONS)
    assert len({option.setting for option in OPTIONS}) == len(OPTIONS)
    assert len({option.recorded for option in RECORDED}) == len(RECORDED)


@pytest.mark.parametrize("option", OPTIONS, ids=by_flag)
def test_every_option_has_its_names(option):
    assert option.flag.startswith("--bench-")
    # The rule: dashes become underscores, none at the front.
    assert option.key == option.flag.removeprefix("--").replace("-", "_")
    assert option.setting in {field.name for field in fields(Settings)}
    assert option.help
    assert option.differs.meaning
    assert bool(option.metavar) != option.switch


@pytest.mark.parametrize("option", RECORDED, ids=by_flag)
def test_runs_that_differ_in_one_option_are_treated_as_it_says(option):
    before = run_json()
    after = with_another(before, option.recorded)
    found = differences_between(RunFacts.from_json(before), RunFacts.from_json(after))
    if option.differs.verdict == "ignore":
        assert found == ()
        check_alike(RunFacts.from_json(before), RunFacts.from_json(after), hint="")
        return
    [one] = found
    assert one.name.startswith(option.recorded)
    assert one.meaning == option.differs.meaning
    if option.differs.verdict == "note":
        check_alike(RunFacts.from_json(before), RunFacts.from_json(after), hint="")
        return
    with pytest.raises(SettingsError, match=f"the runs are unlike: {option.recorded}"):
        check_alike(RunFacts.from_json(before), RunFacts.from_json(after), hint="")


USERS: dict[str, Callable[[Any, Any], Sequence[Any]]] = {
    "migrate": lambda old, new: differences_of(
        old, new, cast("Any", Run(differences=differences_between(old.facts, new.facts))), {}
    ),
    "history": lambda old, new: changes_between(old, new, {"toy"}),
    "watch": lambda old, new: our_changes(setup_of(old.facts, []), setup_of(new.facts, [])),
    "papers": lambda old, new: differences([old, new]),
}
"""What each user of the list of differences shows of two runs."""

REFUSED = [option for option in OPTIONS if option.differs.verdict == "refuse"]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("option", REFUSED, ids=by_flag)
def test_a_refused_difference_is_seen_by_every_user_of_the_list(option, user):
    before = run_json()
    after = with_another(before, option.recorded)
    facts = (RunFacts(entries=run) for run in (before, after))
    old, new = (Run(facts=entry, model="m", rows=(), records=()) for entry in facts)
    # A look of a watch has only the cases of its reference.
    is_seen = user != "watch" or option.differs.kind != "selection"
    assert len(USERS[user](old, new)) == is_seen


def test_parts_of_one_run_must_also_agree_in_their_selection_of_examples():
    before = run_json()
    for option in OPTIONS:
        if option.of_one_run or option.differs.verdict == "refuse":
            after = with_another(before, present(option.recorded))
            with pytest.raises(SettingsError, match=f"the runs are unlike: {option.recorded}"):
                check_alike(
                    RunFacts.from_json(before), RunFacts.from_json(after), hint="", of_one_run=True
                )


@pytest.mark.parametrize(
    ("entry", "values", "kind", "category"),
    [
        ("versions", [{"spacy": "1"}, {"spacy": "2"}], "package", "package"),
        ("served", [{"a": 1}, {"b": 1}], "server", "theirs"),
        ("datasets", [{"toy": {"files": {"f": str(n)}}} for n in range(2)], "data", "data"),
        ("corrections", [{}, {"digest": "1"}], "corrections", "data"),
        ("judge_prompts", [{"m": "1"}, {"m": "2"}], "judge", "ours"),
        ("seed", [1, 2], "setting", "ours"),
        ("params", [{"top_p": 1}, {}], "parameter", "ours"),
    ],
)
def test_a_difference_has_its_kind_and_its_category(entry, values, kind, category):
    [difference] = differences_between(*(RunFacts.from_json({entry: value}) for value in values))
    assert (difference.kind, difference.category) == (kind, category)


def test_a_difference_among_several_runs_has_the_values_of_all():
    [difference] = differences_between(
        RunFacts.from_json({"seed": 1}),
        RunFacts.from_json({}),
        RunFacts.from_json({"seed": 2}),
        RunFacts.from_json({"seed": 1}),
    )
    assert difference.values == ("1", None, "2", "1")


def test_a_run_says_what_was_asked_for_under_the_names_of_the_table(tmp_path):
    asked = run_json(
        limit=3,
        shots=2,
        timeout=7.5,
        max_cost=0.5,
        thresholds={"toy": 0.25},
        gates=("toy.performance >= 0.1",),
        baseline=tmp_path,
        store=tmp_path / "store",
        api_base="http://me:hunter2@host/v1",
    )
    expected = {
        "model": "m",
        "limit": 3,
        "shots": 2,
        "timeout_s": 7.5,
        "max_cost_usd": 0.5,
        "thresholds": {"toy": 0.25},
        "gates": ["toy.performance >= 0.1"],
        "baseline": str(tmp_path),
        "store": str(tmp_path / "store"),
        "params": {"temperature": 0, "max_tokens": 512},
        "strategy": "direct",
    }
    assert {name: asked[name] for name in expected} == expected
    assert "hunter2" not in str(asked)
    assert datetime.fromisoformat(asked["start"])
    for option in RECORDED:
        assert present(option.recorded).partition(".")[0] in asked


VALUES = {
    "bench_model": (["a", "b", "a"], ("a", "b")),
    "bench_dataset": ("x, y", ("x", "y")),
    "bench_serializer": ("csv, json", ("csv", "json")),
    "bench_limit": (" all", "all"),
    "bench_sample": ("5", 5),
    "bench_seed": ("-3", -3),
    "bench_timeout": ("2.5", 2.5),
    "bench_replay": ("yes", True),
    "bench_no_page": ("on", False),
    "bench_param": (["top_p=0.5", "stop=x"], {"top_p": 0.5, "stop": "x"}),
    "bench_threshold": (["toy=0.5"], {"toy": 0.5}),
    "bench_store_readonly": (["a", "/b"], (Path("/base/a"), Path("/b"))),
    "bench_store": ("none", None),
}


@pytest.mark.parametrize("key", VALUES)
def test_a_value_is_read_into_its_setting(key):
    given, expected = VALUES[key]
    found = read_settings({key: given}.get, Path("/base"))
    [setting] = [option.setting for option in OPTIONS if option.key == key]
    assert getattr(found, setting) == expected
    assert found.explicit
    assert found.stored is (key != "bench_store")


def test_a_rule_without_a_name_fits_what_gates_judge():
    given = {"bench_stop_when_decided": "passes"}
    assert read_settings(given.get, Path()).stop_rule == "passes"


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "", "x", "1e400"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(SettingsError, match="--bench-timeout takes seconds above 0, not"):
        read_settings({"bench_timeout": text or " "}.get, Path())
