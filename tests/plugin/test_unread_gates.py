"""Gates in places that pytest does not read: the run stops before the first call."""

from __future__ import annotations

import pytest

from tests.support.toy_bench import Bench

GATE = "toy.pass_rate >= 0.9"
SMALL = (
    *("--model=echo/any", "--bench-store=none", "--bench-no-page"),
    *("--bench-serializer=html", "--bench-perturbation=none"),
)
TOML = f'bench_gate = ["{GATE}"]'
INI = "[tool.pytest.ini_options]"

UNREAD = {
    # files, then the lines of the message after its first
    "table": (
        {"pyproject.toml": f'[tool.tablebench]\ngate = ["{GATE}"]\n'},
        [INI, TOML],
    ),
    "table-of-pytest": (
        {"pyproject.toml": f"[tool.pytest.ini_options]\n[tool.tablebench]\n{TOML}\n"},
        [INI, TOML],
    ),
    "wrong-section": (
        {"setup.cfg": f"[tablebench]\nbench_gate = {GATE}\n"},
        ["[pytest]", f"bench_gate = {GATE}"],
    ),
    "second-file": (
        {"pytest.ini": "[pytest]\n", "pyproject.toml": f"{INI}\n{TOML}\n"},
        ["[pytest]", f"bench_gate = {GATE}"],
    ),
    "subfolder": (
        {"pytest.ini": "[pytest]\n", "sub/pytest.ini": f"[pytest]\nbench_gate =\n  {GATE}\n"},
        ["[pytest]", f"bench_gate = {GATE}"],
    ),
    "options-of-a-subfolder": (
        {"pytest.ini": "[pytest]\n", "sub/tox.ini": "[pytest]\naddopts = --bench-gate='a >= 1'\n"},
        ["[pytest]", "addopts = --bench-gate='a >= 1'"],
    ),
}


@pytest.mark.parametrize(("files", "lines"), UNREAD.values(), ids=UNREAD)
def test_an_unread_gate_stops_the_run(
    bench: Bench, files: dict[str, str], lines: list[str]
) -> None:
    (bench.path / "sub").mkdir()
    (bench.path / "test_suite.py").rename(bench.path / "sub/test_suite.py")
    for name, text in files.items():
        (bench.path / name).write_text(text, encoding="utf-8")
    result = bench.pytester.runpytest_inprocess(*SMALL)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert bench.calls("ask") == []
    first, *rest = [line for line in result.errlines if line]
    file = list(files)[-1]
    assert first.startswith(f"ERROR: {file}: pytest does not read ")
    assert [line.strip() for line in rest] == lines


def test_an_unread_gate_stops_workers(bench: Bench) -> None:
    (bench.path / "pyproject.toml").write_text(f"[tool.tablebench]\n{TOML}\n", encoding="utf-8")
    assert bench.pytester.runpytest_inprocess(*SMALL, "-n1").ret == pytest.ExitCode.USAGE_ERROR
    assert bench.calls("ask") == []


def test_the_lines_of_the_message_make_the_gate_count(bench: Bench) -> None:
    (bench.path / "pyproject.toml").write_text(f"{INI}\n{TOML}\n", encoding="utf-8")
    # Three examples cannot decide it.
    assert bench.pytester.runpytest_inprocess(*SMALL).ret == 11


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--bench-gate=all.no_answer <= 1"], f"[tool.tablebench]\ngate = '{GATE}'"),
        (["-o", "bench_gate="], f"[tool.tablebench]\ngate = '{GATE}'"),
        (["-c", "chosen.ini"], f"[tool.tablebench]\ngate = '{GATE}'"),
        ([], "[tool.other]\ngate = 'toy'\n[tool.pytest.ini_options]\nbench_seed = '1'"),
    ],
    ids=["given", "removed", "file", "others"],
)
def test_a_run_whose_gates_are_chosen_goes_on(
    bench: Bench, arguments: list[str], text: str
) -> None:
    (bench.path / "pyproject.toml").write_text(f"{text}\n", encoding="utf-8")
    (bench.path / "chosen.ini").write_text("[pytest]\n", encoding="utf-8")
    result = bench.pytester.runpytest_inprocess(*SMALL, *arguments)
    assert result.ret in {0, 1}
    assert bench.calls("ask") != []


def test_plain_tests_beside_an_unread_gate_run(bench: Bench) -> None:
    bench.suite("def test_plain(): pass")
    (bench.path / "pyproject.toml").write_text("[tool.tablebench]\ngate = 'x'\n")
    assert bench.pytester.runpytest_inprocess().ret == 0


@pytest.mark.parametrize(
    ("name", "text", "message", "line"),
    [
        (
            *("pytest.ini", "[pytest]\nbench_gate =\n"),
            *("bench_gate in pytest.ini has no value", "bench_gate = all.pass_rate >= 0.5"),
        ),
        (
            *("pyproject.toml", f'{INI}\nbench_limit = " "\n'),
            *("bench_limit in pyproject.toml has no value", "bench_limit = N"),
        ),
        (
            *("pytest.ini", f"[pytest]\nbench-gate = {GATE}\n"),
            *("unknown key 'bench-gate' in pytest.ini", f"bench_gate = {GATE}"),
        ),
        (
            *("pyproject.toml", f'{INI}\nbench-gate = ["{GATE}"]\n'),
            *("unknown key 'bench-gate' in pyproject.toml", TOML),
        ),
        (
            *("pytest.ini", f"[pytest]\nbench_gates = {GATE}\n"),
            *("unknown key 'bench_gates' in pytest.ini", f"bench_gate = {GATE}"),
        ),
    ],
    ids=["blank-gate", "blank-limit", "dash", "dash-in-toml", "plural"],
)
def test_a_key_without_effect_is_refused_with_the_line_that_works(
    bench: Bench, name: str, text: str, message: str, line: str
) -> None:
    (bench.path / name).write_text(text, encoding="utf-8")
    result = bench.pytester.runpytest_inprocess(*SMALL)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    first, *_, last = [text for text in result.errlines if text]
    assert first.startswith(f"ERROR: {message}")
    assert last == f"  {line}"
