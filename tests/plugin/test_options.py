"""Options and ini keys: bad values are refused in one line before anything runs."""

from __future__ import annotations

import json

import pytest

from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.config.settings import read_settings
from pytest_tablebench.errors import SettingsError
from tests.support.toy_bench import ADA, BO, SUITE

BAD = [
    # option, value, and words of the message
    ("dataset", "wikitqq", ["unknown dataset 'wikitqq'", "did you mean 'wikitq'"]),
    ("dataset", ",", ["names separated by commas"]),
    ("serializer", "htm", ["unknown serializer 'htm'", "did you mean 'html'"]),
    ("perturbation", "transpos", ["unknown perturbation 'transpos'", "did you mean 'transpose'"]),
    ("perturbation", "truncate_rows[rows=2]", ["'rows'", "rows_to_keep"]),
    (
        "perturbation",
        "truncate_rows[rows_to_keep=-1]",
        ["rows_to_keep", "a whole number from 0", "-1"],
    ),
    ("perturbation", "truncate_rows[rows_to_keep=x]", ["name[key=value"]),
    ("perturbation", "truncate_rows[rows_to_keep=__import__('os')]", ["name[key=value"]),
    ("perturbation", "none[seed=3]", ["'seed'"]),
    ("max-reply", "999", ["bytes from 1000 to 2000000", "'999'"]),
    ("max-reply", "1MB", ["bytes from 1000 to 2000000", "'1MB'"]),
    ("max-age", "1w", ["7d, 12h, 30m", "'1w'"]),
    ("limit", "0", ["from 1", "'0'"]),
    ("limit", "All", ["all or a whole number from 1", "'All'"]),
    ("sample", "0", ["from 1", "'0'"]),
    *((option, "", ["empty"]) for option in ("limit", "shots", "seed", "compat", "timeout")),
    *((option, "", ["empty"]) for option in ("retries", "api-base", "data", "results")),
    *((option, "", ["empty"]) for option in ("dataset", "serializer", "param", "threshold")),
    ("shots", "-1", ["from 0", "'-1'"]),
    ("seed", "x", ["whole number"]),
    ("compat", "fixd", ["'fixd'", "did you mean 'fixed'", "reference"]),
    ("api-base", "localhost:8000", ["http://"]),
    ("param", "temperature", ["key=value"]),
    ("param", "=1", ["key=value"]),
    ("param", "api_key=secret-value", ["api_key", "OPENAI_API_KEY"]),
    ("param", 'extra_body={"a": [{"api_key": "secret-value"}]}', ["extra_body: api_key"]),
    ("param", 'extra_body={"x-api-key": "secret-value"}', ["extra_body: x-api-key"]),
    ("param", "private-key=secret-value", ["private-key", "must not be given"]),
    ("param", "extra_headers={}", ["extra_headers", "JSON object"]),
    ("param", "extra_headers=secret-value", ["extra_headers", "JSON object"]),
    ("param", 'extra_headers={"X": "secret-value\\n"}', ["extra_headers: X", "a line end"]),
    ("param", 'extra_headers={"X": "secret-value\u00e4"}', ["extra_headers: X", "ASCII"]),
    ("param", 'extra_headers={"X: y": "secret-value"}', ["extra_headers: X: y"]),
    ("param", 'extra_headers={"X": 1}', ["extra_headers: X", "no text"]),
    ("param", 'extra_query=["secret-value"]', ["extra_query", "JSON object"]),
    ("param", 'default_headers={"X": "secret-value"}', ["default_headers", "must not be given"]),
    ("param", "model=x", ["model"]),
    ("timeout", "0", ["above 0", "'0'"]),
    ("patience", "0", ["seconds above 0", "'0'"]),
    ("retries", "-1", ["from 0", "'-1'"]),
    ("connections", "0", ["from 1", "'0'"]),
    ("repeats", "0", ["from 1", "'0'"]),
    ("max-cost", "-1", ["dollars from 0", "'-1'"]),
    ("store-readonly", "no-such-folder", ["no-such-folder", "does not exist"]),
    ("store", "test_suite.py", ["test_suite.py", "choose another"]),
    ("baseline", "no-such-run", ["no-such-run", "not a run folder"]),
    ("allure", "everything", ["unknown mode 'everything'", "summary"]),
    ("stop-when-decided", "soon", ["unknown mode 'soon'", "passes"]),
    ("data", "no-such-folder", ["no-such-folder", "folder"]),
    ("data", "test_suite.py", ["test_suite.py", "folder"]),
    ("results", "test_suite.py", ["test_suite.py", "choose another folder"]),
    ("threshold", "toy=2", ["from 0 to 1", "'toy=2'"]),
    ("threshold", "toy", ["DATASET=number"]),
    ("threshold", "toi=0.5", ["unknown dataset 'toi'", "did you mean 'toy'"]),
    ("model", "", ["empty"]),
    ("model", "tablebench/lexicla", ["tablebench/lexical"]),
    ("model", "tablebench/scripted", ["tablebench/scripted:PATH"]),
    ("model", "tablebench/scripted:no-such.jsonl", ["no-such.jsonl", "does not exist"]),
    ("model", "tablebench/scripted:test_suite.py", ["test_suite.py, line"]),
]


def refused(bench, option: str, value: str) -> str:
    """Return the message that refuses a value: from the settings, or from a run."""
    key = f"bench_{option.replace('-', '_')}"
    setting = [value] if option in {"param", "threshold", "store-readonly", "model"} else value
    try:
        read_settings(lambda name: setting if name == key else None, bench.path)
    except SettingsError as error:
        return str(error)
    return refused_by_a_run(bench, option, value)


def refused_by_a_run(bench, option: str, value: str) -> str:
    return bench.refusal(bench.pytester.runpytest_inprocess(f"--bench-{option}={value}"))


@pytest.mark.parametrize("option", ["limit", "param"])
def test_a_run_refuses_with_the_message_of_the_settings(bench, option):
    assert refused_by_a_run(bench, option, "x") == refused(bench, option, "x")


@pytest.mark.parametrize(
    ("option", "value", "parts"), BAD, ids=[f"{option}={value}" for option, value, _ in BAD]
)
def test_a_bad_value_is_refused_in_one_line(bench, option, value, parts):
    line = refused(bench, option, value)
    assert line.startswith(f"--bench-{option}")
    for part in parts:
        assert part in line
    assert "\n" not in line
    assert "secret-value" not in line


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--bench-replay", "no answer has a new name; add =NAME"),
        ("--bench-shard=1/2", "all shards of a run need the same name; add =NAME"),
        ("--bench-executor=batch", "add =NAME or --bench-results=DIR"),
    ],
)
def test_a_run_whose_answers_are_needed_again_names_them(bench, option, message):
    result = bench.pytester.runpytest_inprocess("--model=echo/any", "--bench-fresh", option)
    assert message in bench.refusal(result)


@pytest.mark.parametrize("start", [".", "sub"])
def test_folders_of_an_ini_file_are_relative_to_it(bench, monkeypatch, start):
    (bench.path / "tables").mkdir()
    (bench.path / "sub").mkdir()
    (bench.path / "answers").mkdir()
    keys = {"data": "tables", "results": "kept", "store": "store", "store_readonly": "answers"}
    lines = [f"bench_{key} = {value}" for key, value in keys.items()]
    lines += ["bench_model = echo/any", "bench_serializer = html", "bench_perturbation = none"]
    bench.pytester.makeini("\n".join(["[pytest]", *lines]))
    monkeypatch.chdir(bench.path / start)
    suite = str(bench.path / "test_suite.py")
    assert bench.pytester.runpytest_inprocess(suite, "--bench-no-page").ret == 1
    facts = bench.facts("kept")
    assert facts["data"] == str(bench.path / "tables")
    assert facts["store"] == str(bench.path / "store")
    assert sorted(path.name for path in (bench.path / "sub").iterdir()) == []
    # The same folder, named on the command line from where pytest starts.
    again = bench.pytester.runpytest_inprocess(suite, "--bench-results=there", "--bench-no-page")
    assert again.ret == 1
    assert (bench.path / start / "there/run.json").is_file()


def test_a_tilde_is_the_home_folder(bench, monkeypatch):
    home = bench.path / "home"
    (home / "tables").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    bench.run("--model=echo/any", "--bench-limit=1", "--bench-data=~/tables")
    assert bench.facts()["data"] == str(home / "tables")


@pytest.mark.parametrize("section", ["tool.pytest", "tool.pytest.ini_options"])
def test_pyproject_may_contain_numbers_and_switches(bench, section):
    bench.data(toy=[ADA])
    typed = section == "tool.pytest"
    values = {"limit": "1", "timeout": "9.5", "seed": "7", "gate_point": "true"}
    lines = [f"bench_{k} = {v if typed else repr(v)}" for k, v in values.items()]
    lines += ['bench_compat = "reference"', 'bench_gate = ["toy.performance >= 0.5"]']
    bench.pytester.makepyprojecttoml("\n".join([f"[{section}]", *lines]))
    # One right answer has no interval: only the estimate can decide.
    result = bench.run("--model=echo/any")
    assert result.ret == 0
    facts = bench.facts()
    assert [facts[k] for k in ("limit", "timeout_s", "seed", "compat")] == [1, 9.5, 7, "reference"]
    assert [gate["state"] for gate in facts["gates"]] == ["holds"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bench_limit = 0", "--bench-limit takes all or a whole number from 1, not '0'"),
        ("bench_limit = true", "--bench-limit takes all or a whole number from 1, not 'True'"),
        ("bench_timeout = -1", "--bench-timeout takes seconds above 0, not '-1'"),
        ("bench_gate_point = 2", "bench_gate_point takes true or false, not '2'"),
        ("bench_demos = 3", "--bench-demos: unknown mode '3'"),
        ("bench_data = 5", "'bench_data' expects a string"),  # pytest's own words
    ],
)
def test_a_bad_value_of_a_typed_table_is_refused_in_one_line(bench, line, message):
    bench.pytester.makepyprojecttoml(f"[tool.pytest]\n{line}\n")
    assert message in bench.refusal(bench.pytester.runpytest_inprocess())


def test_the_password_of_a_refused_address_is_not_shown(bench):
    result = bench.pytester.runpytest_inprocess("--bench-api-base=ftp://me:hunter2@host/v1")
    assert "hunter2" not in bench.refusal(result) + result.stdout.str()


def test_help_lists_every_option_and_ini_key(bench):
    result = bench.pytester.runpytest_inprocess("--help")
    text = result.stdout.str()
    assert "--model" in text
    for option in OPTIONS:
        assert option.flag in text
        assert f"{option.key} (" in text
    # Options that few need are last.
    lines = result.outlines
    rare_lines = lines[lines.index("language models on table benchmarks, rarely needed:") :]
    last = {line.split()[0] for line in rare_lines if line.startswith("  --bench-")}
    rare = {
        *("callers", "executor", "scheduler", "score-there", "transport", "store-every", "open"),
        *("meteor", "structure", "format-retries", "max-reply", "demos", "small-pool"),
    }
    assert {flag.partition("=")[0] for flag in last} == {f"--bench-{name}" for name in rare}


def test_plurals_of_options_are_accepted(bench):
    options = ["--bench-models=echo/any", "--bench-serializers", "csv", "--bench-datasets=toy"]
    result = bench.run(*options, "--bench-perturbations=none", "--bench-limits=1")
    result.assert_outcomes(passed=1)
    assert [record["case_id"] for record in bench.records()] == ["toy/ada/csv/none"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--bench-serialiser=csv", "unknown option --bench-serialiser: write --bench-serializer"),
        ("--bench_dataset=toy", "unknown option --bench_dataset: write --bench-dataset"),
        ("--models=echo/any", "unknown option --models: write --model"),
        ("--bench-xyzzy", "unknown option --bench-xyzzy: `pytest --help` lists all options"),
    ],
)
def test_an_option_that_is_spelled_otherwise_is_answered_with_the_right_one(bench, word, message):
    assert bench.refusal(bench.pytester.runpytest_inprocess(word)) == message


def test_options_of_a_conftest_that_resemble_ours_are_accepted(bench):
    bench.adapt(add='\ndef pytest_addoption(parser):\n    parser.addoption("--bench-mode")\n')
    bench.run("--model=echo/any", "--bench-limit=1", "--bench-mode=x").assert_outcomes(passed=1)


INI = {
    # ini key: its value, the option's value, and the field of run.json with both values
    "bench_model": ("echo/ini", "echo/line", "model", "echo/ini", "echo/line"),
    "bench_limit": ("2", "1", "limit", 2, 1),
    "bench_sample": ("2", "1", "sample", 2, 1),
    "bench_shots": ("2", "0", "shots", 2, 0),
    "bench_seed": ("7", "-3", "seed", 7, -3),
    "bench_compat": ("reference", "fixed", "compat", "reference", "fixed"),
    "bench_api_base": ("http://a/v1", "https://b", "api_base", "http://a/v1", "https://b"),
    "bench_timeout": ("9.5", "3", "timeout_s", 9.5, 3.0),
    "bench_patience": ("90", "2.5", "patience_s", 90.0, 2.5),
    "bench_retries": ("0", "2", "retries", 0, 2),
}


@pytest.mark.parametrize("left_out", ["bench_sample", "bench_limit"])
def test_ini_keys_mirror_options_and_the_command_line_overrides_them(bench, left_out):
    """A sample and a limit exclude each other, so each run leaves one of them out."""
    keys = {key: values for key, values in INI.items() if key != left_out}
    bench.data(toy=[ADA])
    lines = [f"{key} = {in_ini}" for key, (in_ini, *_) in keys.items()]
    bench.pytester.makeini("\n".join(["[pytest]", *lines]))
    options = [f"--{key.replace('_', '-')}={values[1]}" for key, values in keys.items()]
    bench.run(results="by-ini").assert_outcomes(passed=1)
    bench.run(*options, results="by-option").assert_outcomes(passed=1)
    ini_facts, option_facts = bench.facts("by-ini"), bench.facts("by-option")
    for _, _, field, by_ini, by_option in keys.values():
        assert (ini_facts[field], option_facts[field]) == (by_ini, by_option), field


def test_the_axes_can_be_set_in_an_ini_file(bench):
    bench.data(toy=[ADA], other=[BO])
    bench.suite(SUITE + SUITE.replace("toy", "other"))
    axes = "bench_serializer = csv, json\nbench_perturbation = none\n    shuffle_rows\n"
    bench.pytester.makeini(f"[pytest]\nbench_dataset = toy\n{axes}")
    run = bench.pytester.runpytest_inprocess("--model=echo/any", "--bench-results=run")
    run.assert_outcomes(passed=4, deselected=1)
    assert [record["case_id"] for record in bench.records()] == [
        f"toy/ada/{serializer}/{perturbation}"
        for perturbation in ("none", "shuffle_rows")
        for serializer in ("csv", "json")
    ]


SCHEMA = {"type": "object", "properties": {"header": {"type": "string"}, "key": {"type": "string"}}}


def test_params_are_read_as_json_or_text_and_added_to_the_defaults(bench):
    bench.run(
        "--model=echo/any",
        "--bench-limit=1",
        "--bench-param=temperature=0.5",
        "--bench-param=stop=[1]",
        "--bench-param=note=a=b",
        "--bench-param=max_tokens=99",
        # These names look like secrets but are parameters.
        f"--bench-param=response_format={json.dumps(SCHEMA)}",
        "--bench-param=eos_token=</s>",
    )
    expected = {"temperature": 0.5, "max_tokens": 99, "stop": [1], "note": "a=b"}
    expected |= {"response_format": SCHEMA, "eos_token": "</s>"}
    assert bench.facts()["params"] == expected
