"""What all tests share."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.matrix import draws

pytest_plugins = ["pytester"]

# What collection makes stays: looking through it again and again is a quarter of its time.
gc.disable()

# Pytest as tests start it has only the plugins they name: with `-p randomly`, say.
PLAIN = "-p no:randomly -p no:rerunfailures -p no:hypothesispytest -p no:anyio -p no:platformdirs"
os.environ["PYTEST_ADDOPTS"] = PLAIN
# Commands are shown by name where the environment is activated, as it is here.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
# Pytest prints whole messages in its summary where one of these is set: tests read the short form.
for _name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(_name, None)
# What one process has compiled, the next need not compile again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True)
def _plain_pytest(request, monkeypatch):
    if "pytester" in request.fixturenames:
        request.getfixturevalue("pytester")  # takes the variable away
    monkeypatch.setenv("PYTEST_ADDOPTS", PLAIN)


def pytest_collection_finish():
    """Take what is loaded out of the collector's sight: it stays, and is a million objects.

    Sessions that tests start here would have it looked through again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


# A busy machine is no failure: no test is timed. Fewer draws than hypothesis makes by itself.
settings.register_profile("untimed", deadline=None, max_examples=draws(100))
settings.load_profile("untimed")
