"""A model provider of another package: it says the last word of the prompt's table."""

from __future__ import annotations

from pytest_tablebench.extend import Reply, Request, Settings


class LastCell:
    """Answers with the cell before the question."""

    def __init__(self, model: str) -> None:
        self.model = model

    def complete(self, request: Request) -> Reply:
        """Answer one request; nothing here is slow."""
        table = request.text.rpartition("Table:\n")[2].partition("\n\nQuestion:")[0]
        return Reply(table.replace("|", " ").split()[-1], finish_reason="stop")


def make(model: str, settings: Settings) -> LastCell:
    """Return the provider of a model whose name begins with `lastcell/`."""
    return LastCell(model)


def pytest_tablebench_register_provider(register):
    register("lastcell", make)
