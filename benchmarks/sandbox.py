"""Programs a second in warm workers and in fresh processes.

    python -m benchmarks.sandbox [--charts 60] [--fresh 6] [--workers 2]

The programs draw one of four kinds of charts from a table in their folder; their values are read
from the figure, as the metrics do. Wall time is measured after the start of the workers.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pytest_tablebench.metrics.charts import tablebench_chart
from pytest_tablebench.metrics.steps import Execute
from pytest_tablebench.sandbox import Sandbox
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile

TABLE = TableFile(
    Table(["year", "a", "b"], [[2000 + n, n * 3 % 17, n * 5 % 23] for n in range(12)])
)
DRAWN = {
    "line": "df.plot(x='year')",
    "bar": "plt.bar(df['year'], df['a'])",
    "pie": "plt.pie(df['b'] + 1)",
    "scatter": "plt.scatter(df['a'], df['b'])",
}
PROGRAM = "import pandas as pd\nimport matplotlib.pyplot as plt\ndf = pd.read_csv('table.csv')\n"


def charts(count: int) -> list[Execute]:
    """Return chart programs as the metric runs them."""
    made = []
    for number in range(count):
        kind = list(DRAWN)[number % len(DRAWN)]
        reply = f"```python\n{PROGRAM}{DRAWN[kind]}\nplt.title('{number}')\nplt.show()\n```"
        step = next(tablebench_chart(reply, ["[]"], chart_type=kind, table=TABLE))
        assert isinstance(step, Execute)
        made.append(step)
    return made


def without_picture(task: Execute) -> Execute:
    return Execute(
        task.program, task.files, task.limits, task.runner.replace("_save(plt.gcf())", "1 / 0")
    )


def a_second(run: Callable[[Execute], object], tasks: Sequence[Execute], workers: int) -> float:
    began = time.perf_counter()
    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(run, tasks))
    return len(tasks) / (time.perf_counter() - began)


def fresh(task: Execute) -> None:
    """Run a task in a new process, without isolation."""
    with tempfile.TemporaryDirectory() as folder:
        given = {"program.py": task.program.encode(), "runner.py": task.runner.encode()}
        for name, data in {**task.files, **given}.items():
            (Path(folder) / name).write_bytes(data)
        code = "exec(open('runner.py').read(), {'program': open('program.py').read()})"
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--charts", type=int, default=60)
    parser.add_argument("--fresh", type=int, default=6)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    box = Sandbox(workers=given.workers)

    def run(task: Execute) -> None:
        ran = box.run(task)
        assert ran.outcome == "ok", ran

    drawn = charts(given.charts)
    began = time.perf_counter()
    a_second(run, drawn[: given.workers], given.workers)
    print(f"{box.backend.name}, {given.workers} workers; start {time.perf_counter() - began:.1f} s")
    alone = a_second(fresh, drawn[: given.fresh], given.workers)
    print(f"{'a process each':<28}{alone:8.1f} charts a second")
    for name, tasks in (
        ("values and picture", drawn),
        ("values", [without_picture(task) for task in drawn]),
    ):
        found = a_second(run, tasks, given.workers)
        print(f"{name:<28}{found:8.1f} charts a second, {found / alone:.0f} times as many")
    trivial = [Execute(f"print({number})") for number in range(given.charts)]
    print(f"{'a line that prints':<28}{a_second(run, trivial, given.workers):8.1f} a second")
    box.close()


if __name__ == "__main__":
    main()
