"""How a dataset is run: as options say, else as it declares, else as usual; and who said it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import TableQuestions, table_question
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics import Score
from pytest_tablebench.registry import Registry
from pytest_tablebench.running.axes import Axes
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.plan import plan_model
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.running.scorer import Scorer
from pytest_tablebench.serializers.content import Image
from pytest_tablebench.tables.table import Table

PICTURE = Image("image/png", b"\x89PNG\r\n\x1a\n")
OWN: dict[str, Any] = {
    "serializers": ("html", "photo"),
    "perturbations": "none",
    "modality": ("text", "image"),
    "limit": 7,
    "params": {"max_tokens": 4096, "temperature": 0},
}


def registry(**attributes: Any) -> Registry:
    """A registry with a dataset `mine` that declares these, one that declares nothing, a format."""
    found, built_in = Registry(), builtin_registry()
    found.datasets["mine"] = type("Mine", (TableQuestions,), attributes)("mine", (), shots=2)
    found.datasets["plain"] = TableQuestions("plain", ())
    found.serializers |= {**built_in.serializers, "photo": lambda _: (PICTURE,)}
    for names in ("perturbations", "strategies", "providers", "metrics", "postprocessors"):
        getattr(found, names).update(getattr(built_in, names))
    found._origins.update(built_in._origins)
    return found


def axes(own: dict[str, Any] = OWN, **settings: Any) -> Axes:
    return Axes(Settings(**settings), registry(**own))


def test_what_a_dataset_declares_holds_for_it_alone():
    run = axes()
    found = run.defaults("mine")
    assert (found.serializers, found.perturbations) == (("html", "photo"), ("none",))
    assert (found.shots, found.limit, found.strategy) == (2, 7, ("direct",))
    assert run.modalities_by_serializer("mine") == {"html": ("text",), "photo": ("image",)}
    usual = run.defaults("plain")
    assert (len(usual.serializers), len(usual.perturbations)) == (7, 5)
    assert usual.params == {"temperature": 0, "max_tokens": 512}
    assert run.modalities("plain") == ("text",)


def test_options_go_before_it_and_parameters_are_merged_one_by_one():
    run = axes(limit="all", shots=0, perturbations=("transpose",), params={"temperature": 1})
    found = run.defaults("mine")
    assert (found.limit, found.shots, found.perturbations) == (None, 0, ("transpose",))
    assert found.params == {"max_tokens": 4096, "temperature": 1}
    assert run.defaults("plain").params == {"max_tokens": 512, "temperature": 1}


def test_an_option_narrows_what_the_dataset_declares():
    assert axes(modalities=("text",)).defaults("mine").serializers == ("html",)
    assert axes(serializers=("photo",)).defaults("mine").modality == ("image",)
    with pytest.raises(SettingsError, match="dataset 'mine': it is shown as text, which none of"):
        axes({"serializers": "photo"}, modalities=("text",)).check_declared("mine")
    with pytest.raises(SettingsError, match="dataset 'mine': unknown modality 'picture'"):
        axes({"modality": "picture"}).check_declared("mine")


def test_a_picture_takes_the_place_of_formats_or_stands_beside_each():
    assert axes(modalities=("image_text",)).modalities_by_serializer("mine") == {
        "html": ("image_text",)
    }
    assert axes({"modality": "image"}).modalities_by_serializer("mine") == {"image": ("image",)}
    both = axes(
        {}, serializers=("csv", "json"), modalities=("image", "image_text")
    ).modalities_by_serializer("mine")
    assert both == {"csv": ("image_text",), "json": ("image_text",), "image": ("image",)}
    assert axes(modalities=("text", "image_text")).modalities_by_serializer("plain")["df"] == (
        "text",
        "image_text",
    )


def test_the_run_tells_what_is_not_usual_and_who_said_so():
    told = axes(limit=3, params={"top_p": 0.5}, thresholds={"mine": 0.4}).recorded_settings("mine")
    assert told == {
        "serializers": ["html", "photo"],
        "perturbations": ["none"],
        "strategy": ["direct"],
        "modality": ["text", "image"],
        "shots": 2,
        "limit": 3,
        "threshold": 0.4,
        "params": {"temperature": 0, "max_tokens": 4096, "top_p": 0.5},
        "part": None,
        "parts": None,
        "from": {
            "serializers": "declared",
            "perturbations": "declared",
            "modality": "declared",
            "limit": "--bench-limit",
            "shots": "declared",
            "params.max_tokens": "declared",
            "params.top_p": "--bench-param",
            "threshold": "--bench-threshold",
        },
    }
    assert axes().recorded_settings("plain")["from"] == {}
    assert axes().recorded_settings("plain", 0.5)["from"] == {"threshold": "its test"}


def test_parameters_are_those_of_the_dataset_for_the_model_under_test_alone():
    settings = Settings(models=("tablebench/lexical",), params={"seed": 1})
    found = registry(**OWN)
    pool = ProviderPool(settings, found, Axes(settings, found).params)
    [mine, plain, judge] = [
        pool.route("tablebench/lexical", dataset).params for dataset in ("mine", "plain", None)
    ]
    assert mine == {"temperature": 0, "max_tokens": 4096, "seed": 1}
    assert plain == judge == {"temperature": 0, "max_tokens": 512, "seed": 1}


def test_the_plan_counts_the_tokens_that_each_dataset_allows():
    found = registry(perturbations="none", params={"max_tokens": 4096}, shots=0)
    table = Table(["a"], [["1"]])
    for number, name in enumerate(("mine", "plain")):
        kind: Any = type(found.datasets[name])
        asked = table_question(f"q{number}", table, f"How many {name}?", ["1"])
        found.datasets[name] = kind(name, [asked])
    settings = Settings(models=("tablebench/lexical",), stored=False, serializers=("html",))
    runner = Runner(settings, found)
    cases = [case for name in ("mine", "plain") for case in runner.cases(name)[0]]
    plan = plan_model(runner, "tablebench/lexical", cases)
    # One case of `mine`, and five of `plain`; some arrangements of one cell are the same request.
    assert plan.cases == 6
    assert plan.completion_tokens == 4096 + 512 * (plan.calls - 1)


def test_a_dataset_chooses_the_number_that_is_its_score():
    found = registry(part="f1")
    found.metrics["two"] = lambda *_, **__: Score(0.0, {"em": 0.0, "f1": 0.75, "bleu": 40}, "em")
    mine: Any = found.datasets["mine"]
    mine.metric = "two"

    def scored() -> Score | None:
        return Scorer(found).score_text(mine, "x", ["x"]).score

    assert scored() == Score(0.75, {"em": 0.0, "f1": 0.75, "bleu": 40}, "f1")
    for name in ("bleu", "rouge"):
        mine.part = name
        with pytest.raises(SettingsError, match=f"'{name}', which is not a score .* \\(em, f1\\)"):
            scored()
