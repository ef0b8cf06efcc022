"""`--bench-setting` and `--bench-shots`: values of a paper, and numbers by dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.config.reading import RawOption, Shots, shots
from pytest_tablebench.config.settings import Settings, read_settings
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.running.axes import Axes
from pytest_tablebench.running.builtins import builtin_registry

GRID = (
    ("html", "csv", "json", "markdown", "indexed_row_major", "df", "concat"),
    ("none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows"),
)
"""Of the paper: spec/torr.md section 1."""


def read(text: str) -> Shots | int:
    return shots(RawOption("--bench-shots", text, Path()))


def axes(options: dict[str, Any], given: tuple[str, ...] = ()) -> Axes:
    return Axes(read_settings(options.get, Path(), given), builtin_registry())


def test_numbers_of_demonstrations_by_dataset():
    assert read("5") == 5
    assert read("wikitq=1,5") == Shots((("wikitq", 1),), 5)
    assert read("7, wikitq=1 , finqa=0") == Shots((("wikitq", 1), ("finqa", 0)), 7)
    assert read("wikitq=1") == Shots((("wikitq", 1),), None)
    assert [str(read(text)) for text in ("5", "finqa=0,3,wikitq=1")] == ["5", "finqa=0,wikitq=1,3"]


@pytest.mark.parametrize("text", ["", ",", "-1", "1,2", "a=b", "=3", "a=", "1.5", "a=1,a=2", "²"])
def test_other_texts_are_refused_with_an_example(text):
    with pytest.raises(SettingsError, match=r"--bench-shots (takes a whole number|names a twice)"):
        read(text)


def test_each_dataset_has_its_number_and_the_rest_another_or_their_own():
    run = axes({"bench_shots": "finqa=2,3"})
    assert [run.shots(name) for name in ("finqa", "wikitq", "starter")] == [2, 3, 3]
    run = axes({"bench_shots": "finqa=2"})
    assert [run.shots(name) for name in ("finqa", "wikitq", "tabfact")] == [2, 1, 5]
    assert run.recorded_settings("finqa")["from"]["shots"] == "--bench-shots"
    assert run.recorded_settings("wikitq")["from"]["shots"] == "declared"
    with pytest.raises(SettingsError, match="--bench-shots: unknown dataset 'finq'; did you mean"):
        axes({"bench_shots": "finq=2"}).check()


def test_the_settings_file_gives_way_to_the_setting_on_the_command_line():
    file = {"bench_setting": "torr", "bench_limit": "7", "bench_param": ["max_tokens=9", "seed=1"]}
    found = axes(file, ("bench_setting",)).defaults("wikitq")
    assert (found.limit, found.shots) == (100, 1)
    assert found.params == {"temperature": 0, "max_tokens": 512, "seed": 1}
    # In the file it is the other way round, and so on the command line beside another option.
    assert axes(file).defaults("wikitq").limit == 7
    assert axes(file, ("bench_setting", "bench_limit")).defaults("wikitq").limit == 7


def test_no_paper_asks_a_sample_or_a_part_of_the_grid():
    file = {"bench_sample": "5", "bench_configs_per_example": "2", "bench_demos": "fixed"}
    chosen = {"bench_setting": "torr"}
    settings = read_settings((file | chosen).get, Path(), ("bench_setting",))
    assert (settings.sample, settings.configs_per_example, settings.demos) == (
        None,
        None,
        "perturbed",
    )
    # On the command line a sample is what is wanted.
    settings = read_settings((file | chosen).get, Path(), ("bench_setting", "bench_sample"))
    assert settings.sample == 5
    assert settings.for_benchmark("torr").limit is None
    assert (
        Axes(settings, builtin_registry()).recorded_settings("wikitq")["from"]["limit"]
        == "declared"
    )
    every = {"bench_sample": "5", "bench_limit": "all"} | chosen
    assert read_settings(every.get, Path()).for_benchmark("torr").limit == "all"


def test_the_setting_of_torr_is_that_of_table_2():
    file = {"bench_setting": "torr", "bench_shots": "2", "bench_serializer": ["html"]}
    run = axes(file | {"bench_modality": ["image"]}, ("bench_setting",))
    torr = [name for name, one in builtin_registry().datasets.items() if one.benchmark == "torr"]
    assert len(torr) == 10
    for name in torr:
        found = run.defaults(name)
        assert (found.serializers, found.perturbations) == GRID
        assert (found.strategy, run.modalities(name)) == (("direct",), ("text",))
        assert (found.shots, found.limit) == (1 if name == "wikitq" else 5, 100)
        assert run.recorded_settings(name)["from"]["shots"] == "--bench-setting=torr"
    # Datasets of other benchmarks keep their own values.
    assert (run.defaults("starter").shots, run.defaults("starter").limit) == (1, None)


def test_the_setting_holds_for_its_benchmark_alone():
    run = axes({"bench_setting": "realhitbench"})
    assert run.defaults("realhit_fc").params == {"temperature": 0, "max_tokens": 4096}
    assert (run.defaults("realhit_fc").shots, run.defaults("realhit_fc").limit) == (0, None)
    assert run.recorded_settings("wikitq") == axes({}).recorded_settings("wikitq")
    assert Settings().for_benchmark("torr") == Settings()


def test_the_setting_of_treb_samples_as_published_and_sends_no_limit():
    # Of the specification: section 3, "Sampling".
    published = {"temperature": 0.2, "top_p": 0.9, "repetition_penalty": 1.1}
    run = axes({"bench_setting": "treb"})
    assert run.defaults("treb_table_query").params == published
    assert (
        run.recorded_settings("treb_table_query")["from"]["params.top_p"] == "--bench-setting=treb"
    )
    limited = axes({"bench_setting": "treb", "bench_param": ["max_tokens=9"]})
    assert limited.defaults("treb_table_query").params == published | {"max_tokens": 9}
    assert run.recorded_settings("wikitq") == axes({}).recorded_settings("wikitq")


def test_an_unknown_setting_is_refused_with_the_known_ones():
    with pytest.raises(SettingsError, match="--bench-setting: unknown setting 'tor'; did you mean"):
        axes({"bench_setting": "tor"})
