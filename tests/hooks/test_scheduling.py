"""The scheduler of xdist, which is chosen when it is known whether the run has cases."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling, WorkStealingScheduling

from pytest_tablebench.hooks._xdist import LateScheduling, one_by_one, stealing


class Node:
    """A worker that keeps the items it should run."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.config, self.shutting_down = None, False
        self.given: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += indices

    def shutdown(self) -> None:
        self.shutting_down = True


class Config:
    """The part of pytest's configuration that xdist's schedulers use."""

    def __init__(self, workers: int) -> None:
        self.option = SimpleNamespace(maxschedchunk=None, tx=[f"{workers}*popen"])

    def getvalue(self, name: str) -> Any:
        return getattr(self.option, name)

    getoption = getvalue


class Log:
    """A log that discards messages."""

    def __getattr__(self, name: str) -> Log:
        return self

    def __call__(self, *_: object) -> None:
        pass


ITEMS = [f"test_a.py::test[{n}]" for n in range(40)]


def collect(choice: Any, *, dies: bool = False) -> tuple[LateScheduling, list[Node]]:
    nodes = [Node("gw0"), Node("gw1"), *([Node("gw2")] if dies else [])]
    scheduler = LateScheduling(Config(len(nodes)), Log(), lambda: choice)
    for node in nodes:
        scheduler.add_node(node)
    assert not scheduler.collection_is_completed
    for node in reversed(nodes):
        scheduler.add_node_collection(node, ITEMS)
        if node.gateway.id == "gw2":
            scheduler.remove_node(nodes.pop())
    assert scheduler.collection_is_completed
    scheduler.schedule()
    return scheduler, nodes


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize(
    ("choice", "kind"),
    [(None, LoadScheduling), (stealing, WorkStealingScheduling), (one_by_one, LoadScheduling)],
)
def test_the_scheduler_is_chosen_when_all_workers_have_collected(
    choice: Any, kind: type, dies: bool
) -> None:
    scheduler, nodes = collect(choice, dies=dies)
    assert scheduler.__class__ is kind  # the name that xdist shows
    assert scheduler.nodes == nodes
    counts = [len(node.given) for node in nodes]
    assert counts == {None: [5, 5], stealing: [20, 20], one_by_one: [2, 2]}[choice]


def test_by_default_items_are_distributed_as_by_xdist() -> None:
    _, nodes = collect(None)
    scheduler, alike = LoadScheduling(Config(2), Log()), [Node("gw0"), Node("gw1")]
    for node in alike:
        scheduler.add_node(node)
    for node in reversed(alike):
        scheduler.add_node_collection(node, ITEMS)
    scheduler.schedule()
    assert [node.given for node in nodes] == [node.given for node in alike]


def test_every_item_runs_once() -> None:
    scheduler, nodes = collect(one_by_one)
    done: list[int] = []
    while any(len(node.given) for node in nodes):
        for node in nodes:
            for index in node.given[:1]:
                node.given.remove(index)
                done.append(index)
                scheduler.mark_test_complete(node, index)
    assert sorted(done) == list(range(len(ITEMS)))
