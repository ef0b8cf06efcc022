"""Settings and fixtures of all tests."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.matrix import draws

pytest_plugins = ["pytester"]

# Garbage collection during pytest's collection takes a quarter of its time and frees nothing.
gc.disable()

# Pytest processes of tests have only the plugins that they name, for instance with `-p randomly`.
PLAIN = "-p no:randomly -p no:rerunfailures -p no:hypothesispytest -p no:anyio -p no:platformdirs"
os.environ["PYTEST_ADDOPTS"] = PLAIN
# Messages name commands without a path if the environment is activated.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
# With one of these variables pytest prints long messages in its summary; tests read the short form.
for _name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(_name, None)
# Processes share compiled bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True)
def _plain_pytest(request, monkeypatch):
    if "pytester" in request.fixturenames:
        request.getfixturevalue("pytester")  # removes the variable
    monkeypatch.setenv("PYTEST_ADDOPTS", PLAIN)


def pytest_collection_finish():
    """Exclude the million loaded objects from garbage collection.

    Otherwise every session started by a test would traverse them again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


# No deadline, because the machine may be busy. Fewer examples than hypothesis's default.
settings.register_profile("untimed", deadline=None, max_examples=draws(100))
settings.load_profile("untimed")
