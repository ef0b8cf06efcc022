"""Ordinary programs run in the sandbox."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_tablebench.metrics.steps import Execute
from pytest_tablebench.sandbox import backends, choose
from pytest_tablebench.sandbox._worker import SandboxProcess

ORDINARY = {
    "exit": ("print(1)\nexit()\nprint(2)", "1"),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "print(sum(ThreadPoolExecutor(4).map(abs, range(-3, 4))))",
        "12",
    ),
    "files": (
        "import shutil, tempfile\n"
        "with open('a', 'w') as file: file.write('x' * 100_000)\n"
        "shutil.copyfile('a', 'b')\n"
        "with open('b', 'r+') as file: file.truncate(7)\n"
        "with tempfile.TemporaryFile() as file: print(file.write(b'abc'), len(open('b').read()))",
        "3 7",
    ),
    "a library that was not loaded before": (
        "import numpy as np\nimport numpy.linalg, importlib.metadata\n"
        "pages = np.memmap('m', dtype='f8', mode='w+', shape=(100,))\npages[:] = 2\npages.flush()\n"
        "print(np.linalg.inv(np.eye(3)).sum(), pages.sum(),"
        " importlib.metadata.version('numpy') == np.__version__)",
        "3.0 200.0 True",
    ),
    "time zones": (
        "import datetime, zoneinfo\n"
        "print(datetime.datetime(2020, 1, 1, tzinfo=zoneinfo.ZoneInfo('UTC')).isoformat())",
        "2020-01-01T00:00:00+00:00",
    ),
    "a database in memory": (
        "import sqlite3\nprint(sqlite3.connect(':memory:').execute('select 1 + 1').fetchall())",
        "[(2,)]",
    ),
    "source of functions": (
        "import inspect, json\nprint('def' in inspect.getsource(json.loads))",
        "True",
    ),
    "an optional import": (
        "try:\n    import pytest\nexcept ImportError as error: print(type(error).__name__)",
        "ModuleNotFoundError",
    ),
}


@pytest.fixture(scope="module")
def worker() -> Iterator[SandboxProcess]:
    tried = choose(backends())
    if tried[-1].why is not None:
        pytest.skip("; ".join(f"{one.backend.name}: {one.why}" for one in tried))
    made = SandboxProcess(tried[-1].backend, warm=False)
    yield made
    made.close()


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_program_runs(name: str, worker: SandboxProcess) -> None:
    program, output = ORDINARY[name]
    ran = worker.run(Execute(program))
    assert (ran.outcome, ran.error, ran.output.strip()) == ("ok", "", output)
