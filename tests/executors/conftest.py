from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker_site import Site
from tests.support.fixtures import openai_server  # noqa: F401 - a fixture, found by its name


@pytest.fixture
def seeded() -> Iterator[None]:
    """Seed the module's random generator, from which back-off is drawn."""
    state = random.getstate()
    random.seed(7)
    yield
    random.setstate(state)


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    made: list[Site] = []

    def make(**config: Any) -> Site:
        made.append(Site(tmp_path, **config))
        return made[-1]

    yield make
    for site in made:
        site.close()


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    return make_site()
