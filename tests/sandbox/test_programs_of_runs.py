"""Programs as steps of a run are run by the engine, stored, and not run in a replay."""

from __future__ import annotations

import pytest

from tests.support.toy_bench import CONFTEST, Bench

SUITE = """
import pytest


@pytest.mark.tablebench("toy")
def test_toy(case, answer):
    pass
"""

REPLY = "```python\nimport matplotlib.pyplot as plt\n{}\nplt.show()\n```"
READS = "import pandas as pd\nages = pd.read_csv('table.csv')['Age']\nplt.bar(range(3), ages)"
KILLS = "import os\nplt.bar([1], [36])\nos.kill(os.getppid(), 9)"


@pytest.fixture
def bench(pytester: pytest.Pytester) -> Bench:
    """Return the toy dataset with charts, whose answers are heights of bars."""
    made = Bench(pytester)
    text = CONFTEST.replace('metric = "exact_match"', 'metric = "tablebench_chart"')
    text = text.replace('return ("take_first_non_empty_line",)', "return ()")
    drawn = 'context={"chart_type": "bar", "table": TableFile(table)}'
    text = text.replace("tags=tags)", f"tags=tags, {drawn})")
    text += "\nfrom pytest_tablebench.tables.table_file import TableFile\n"
    (made.path / "conftest.py").write_text(text, encoding="utf-8")
    expected = "y_references = [[36, 41, 12]]"
    made.data(toy=[[name, f"How old is {name}?", [expected]] for name in ("ada", "bo", "cy", "di")])
    made.suite(SUITE)
    return made


def test_a_chart_is_drawn_once_stored_and_replayed(bench: Bench) -> None:
    model = bench.script(
        {"match": "old is ada", "text": REPLY.format(READS)},
        {"match": "old is bo", "text": REPLY.format("plt.bar([1], [36])")},
        {"match": "old is cy", "text": REPLY.format(KILLS)},
        {"match": "old is di", "text": "I cannot draw."},
    )
    given = (f"--bench-model={model}", "--bench-store=kept", "--bench-perturbation=shuffle_rows")
    bench.run_apart("-n1", *given)
    found = {record["example_id"]: record for record in bench.records()}
    parts = {name: (one["parts"]["ecr"], one["parts"]["pass@1"]) for name, one in found.items()}
    assert parts == {"ada": (1, 1), "bo": (1, 0), "cy": (0, 0), "di": (0, 0)}
    flags = {name: one["flags"] for name, one in found.items()}
    assert flags == {"ada": [], "bo": [], "cy": ["program_error"], "di": ["no_program"]}
    assert [one["outcome"] for one in found["ada"]["steps"]][1:] == ["ok"]
    pictures = {found[name]["steps"][1]["picture"] for name in ("ada", "bo")}
    assert {path.name for path in (bench.path / "run" / "media").iterdir()} == pictures
    assert len(pictures) == 2
    assert "picture" not in found["cy"]["steps"][1]

    # The engine does not start, so no program can run.
    bench.run_apart(*given, "--bench-replay", results="again")
    again = {record["example_id"]: record for record in bench.records("again")}
    assert {name: one["parts"] for name, one in again.items()} == {
        name: one["parts"] for name, one in found.items()
    }
    assert all(step["from_store"] for step in again["ada"]["steps"] if step["kind"] == "execute")
    assert {path.name for path in (bench.path / "again" / "media").iterdir()} == pictures
