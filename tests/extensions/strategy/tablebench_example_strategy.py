"""A strategy of another package: the model takes notes first, and answers with them."""

from __future__ import annotations

from pytest_tablebench.extend import Ask, Conversation, Message, Reply, Task

FIRST = "Do not answer yet: say in one line which cells of the table matter."


class Notes:
    """Two rounds: notes, then the answer."""

    name = "notes"

    def converse(self, task: Task) -> Conversation:
        """Ask for notes, and go on in the same conversation."""
        asked = Message("user", f"{task.prompt}\n\n{FIRST}")
        notes = yield Ask((asked,))
        assert isinstance(notes, Reply)
        then = Message("user", f"{task.prompt}\n\nYour notes: {notes.text}")
        reply = yield Ask((asked, Message("assistant", notes.text), then))
        assert isinstance(reply, Reply)
        return reply.text


def pytest_tablebench_register_strategy(register):
    register(Notes())
