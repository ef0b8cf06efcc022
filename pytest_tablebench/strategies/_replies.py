"""Reading replies in TReB's answer forms (spec: treb.md section 3).

Replies are hostile: every function accepts any text, raises nothing, and takes time proportional to
its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics.replies import after_thinking
from pytest_tablebench.util.entries import parsed_json

FENCE = "```"
RESULT = f"{FENCE}CodeExecuteResult"
"""The start of a program's output in a conversation that continues after it."""

_PYTHON = re.compile(r"```python[A-Za-z]*\n")
_JSON = re.compile(r"```json")
_BOX = "boxed{"

_MODULES = ("os", "sys", "shutil", "pathlib")
_FILTERED = (
    "/mnt/tmp.csv",  # the path of the table in the prompt
    "pd.read_csv",
    "exit(",
    *(f"import {module}" for module in _MODULES),
    *(f"from {module}" for module in _MODULES),
    "pip install",
    "pip uninstall",
)


@dataclass(frozen=True)
class Block:
    """A block of Python in a text: its code, and the position of the text after it."""

    code: str
    end: int


def json_answer(reply: str, compat: Compat) -> str:
    """Return the answer of a reply that was asked for a fenced `json` object (TCoT).

    It is the text of `answer` in the last such block, or the whole reply if that block is not an
    object with an answer. `reference` first removes everything up to the last `</think>`.
    """
    text = after_thinking(reply) if compat == "reference" else reply
    blocks = [text[start:end] for start, end in _fenced(text, _JSON)]
    if not blocks:
        return text
    try:
        return str(parsed_json(blocks[-1])["answer"])
    except (ValueError, LookupError, TypeError):
        return text


def python_blocks(text: str) -> list[Block]:
    """Return the closed blocks of Python in a text.

    The fence is in lower case; letters may follow directly, digits and blanks may not.
    """
    return [Block(text[start:end], end + len(FENCE)) for start, end in _fenced(text, _PYTHON)]


def _fenced(text: str, opening: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of the text between each opening fence and the next fence."""
    position = 0
    while fence := opening.search(text, position):
        end = text.find(FENCE, fence.end())
        if end < 0:
            return
        yield fence.end(), end
        position = end + len(FENCE)


def runnable(code: str, compat: Compat) -> str:
    """Return the program that a block of code is run as (spec: treb.md section 4).

    `reference` deletes each line that contains one of the filtered texts. `fixed` runs the block
    unchanged, because the sandbox limits what it can do.
    """
    if compat == "fixed":
        return code
    kept = [line for line in code.split("\n") if not any(text in line for text in _FILTERED)]
    return "\n".join(kept)


def boxed_answer(text: str, compat: Compat) -> str:
    r"""Return the answer of a conversation that was asked to end in `\boxed{}` (ICoT).

    It is the content of the last balanced box, or else the text after the last result of a program,
    or else the whole text. `reference` first removes everything up to the last `</think>`, and
    skips any one character after the fence of that result; `fixed` skips only a line end.
    """
    answer = after_thinking(text) if compat == "reference" else text
    return last_box(answer) or _behind_result(answer, compat) or answer


def last_box(text: str) -> str:
    """Return the content of the last balanced box, or an empty text."""
    boxes = list(_boxes(text))
    return boxes[-1] if boxes else ""


def _boxes(text: str) -> Iterator[str]:
    """Yield the content of each balanced box; a nested box is part of the outer one's content."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for mark in re.finditer(r"[{}]", text):
        if mark[0] == "{":
            opened.append(mark.start())
        elif opened:
            closing[opened.pop()] = mark.start()
    position = 0
    while (start := text.find(_BOX, position)) >= 0:
        brace = start + len(_BOX) - 1
        end = closing.get(brace)
        if end is None:
            position = brace + 1
        else:
            yield text[brace + 1 : end]
            position = end + 1


def _behind_result(text: str, compat: Compat) -> str:
    start = text.rfind(RESULT)
    end = text.find(FENCE, start + len(RESULT)) if start >= 0 else -1
    if end < 0:
        return ""
    rest = text[end + len(FENCE) :]
    return rest[1:] if compat == "reference" else rest.removeprefix("\n")
