"""Separation of a model's thoughts from its answer.

Servers without a reasoning parser return both in one text. Only thoughts at the beginning are
separated. A tag in a code block, a table row or quotation marks belongs to the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Thoughts:
    """A reply in two parts.

    Arguments:
        thinking: the thoughts without their tags; several blocks are separated by a blank line.
        text: the answer. It equals the reply, character for character, if no thoughts lead it.
        closed: whether the thoughts end. If they do not, `text` is empty.
    """

    thinking: str
    text: str
    closed: bool = True


_NAMES = "think|thinking|thoughts?|reasoning|reflection|seed:think"
_OPEN = re.compile(rf"\s*(?:<({_NAMES})>|\[(THINK)\]|◁(think)▷)", re.IGNORECASE)
_TAG = re.compile(
    rf"(?P<mark>[`\"])|<(?P<angle>/?(?:{_NAMES}))>|\[(?P<square>/?THINK)\]|◁(?P<kimi>/?think)▷",
    re.IGNORECASE,
)
_CELL, _END_OF_CELL = re.compile(r"<t[dh]\b", re.IGNORECASE), re.compile(r"</t[dh]>", re.IGNORECASE)
_FENCES = ("```", "~~~")
_MOST_BLOCKS = 20
_SIGNS = ("<", "[", "◁", "assistantfinal", "analysis")
"""A reply without any of these contains no thoughts."""


def split_thoughts(reply: str) -> Thoughts:
    """Return a reply's leading thoughts and its answer, in time linear in the reply's length.

    Recognized are the tags think, thinking, thought, reasoning and reflection, `[THINK]`, and the
    channels of gpt-oss, in any number of leading blocks. A closing tag that no opening tag
    precedes ends thoughts too, because some chat templates open them in the prompt. An opening
    tag without an end means that the reply consists of thoughts alone.
    """
    if not any(sign in reply for sign in _SIGNS):
        return Thoughts("", reply)
    channels = _of_channels(reply)
    if channels is not None:
        return channels
    blocks: list[str] = []
    position, tags = 0, list(_tags(reply))
    while len(blocks) < _MOST_BLOCKS:
        opening = _OPEN.match(reply, position)
        begins = position if opening is None else opening.end()
        if opening is None:
            close = _lone_close(tags, begins)
            if close is None:
                break
        else:
            close = _close_of(str(opening[opening.lastindex or 0]).lower(), tags, begins)
            if close is None:
                return Thoughts(joined(*blocks, reply[begins:]), "", closed=False)
        blocks.append(reply[begins : close.start])
        position = close.end
    if position == 0:
        return Thoughts("", reply)
    return Thoughts(joined(*blocks), reply[position:].lstrip())


def joined(*blocks: str) -> str:
    """Return the blocks that contain anything, stripped, with a blank line between two."""
    return "\n\n".join(stripped for block in blocks if (stripped := block.strip()))


def thoughts_of(message: object) -> str:
    """Return the thoughts in the fields of a response's message; an empty text without any."""
    for name in ("reasoning_content", "reasoning"):
        text = getattr(message, name, None)
        if isinstance(text, str) and text:
            return text
    blocks = getattr(message, "thinking_blocks", None)
    return read_blocks(blocks)[1] if isinstance(blocks, list) else ""


def read_blocks(blocks: Sequence[object]) -> tuple[str | None, str]:
    """Return the text of a list of content blocks, None without any, and its thoughts.

    Thoughts are blocks of the type `thinking` or `reasoning`. Their text is a string, or a list of
    blocks again, as Mistral sends it.
    """
    texts: list[str] = []
    thoughts: list[str] = []
    for block in blocks:
        if not isinstance(block, Mapping):
            continue
        if block.get("type") in {"thinking", "reasoning"}:
            inner = next(
                (block[name] for name in ("thinking", "reasoning", "text") if block.get(name)), ""
            )
            thoughts.append(inner if isinstance(inner, str) else _block_texts(inner))
        elif isinstance(text := block.get("text"), str):
            texts.append(text)
    return "".join(texts) if texts else None, joined(*thoughts)


def _block_texts(blocks: object) -> str:
    parts = blocks if isinstance(blocks, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


_CHANNEL = "<|channel|>"
_LEADS = re.compile(r"\s*(?:<\|start\|>\s*assistant\s*)?<\|channel\|>")
_FINAL = re.compile(r"<\|channel\|>\s*final\b[^<\n]{0,80}(?:<\|constrain\|>\w{0,80})?<\|message\|>")
_OPENED = re.compile(r"<\|end\|>\s*<\|start\|>\s*assistant\s*<\|channel\|>\s*final\b")
_CONTROL = re.compile(r"<\|(?:start|end|channel|message|return|call|constrain)\|>")
_HEADERS = frozenset({"assistant", "analysis", "commentary"})
# What is left of the channels if a server drops the control tokens between their names.
_BARE = re.compile(r"\s*analysis(?=[A-Z][a-z']{0,20}[ ,])")
_BARE_FINAL = "assistantfinal"


def _of_channels(reply: str) -> Thoughts | None:
    """Return the parts of a reply in gpt-oss's channels; None for any other reply."""
    bare = _BARE.match(reply)
    if bare is not None:
        before, final, after = reply[bare.end() :].partition(_BARE_FINAL)
        return Thoughts(joined(before), after.lstrip(), closed=bool(final))
    if _CHANNEL not in reply:
        return None
    if _LEADS.match(reply) is None:
        opened = _OPENED.search(reply)
        if opened is None or "```" in reply[: opened.start()]:
            return None
    final_at = _FINAL.search(reply)
    if final_at is None:
        return Thoughts(_messages(reply), "", closed=False)
    text = reply[final_at.end() :].lstrip()
    ended = text.rstrip()
    for token in ("<|return|>", "<|end|>"):
        if ended.endswith(token):
            text = ended.removesuffix(token)
    return Thoughts(_messages(reply[: final_at.start()]), text)


def _messages(text: str) -> str:
    """Return the messages of channels, without control tokens and headers."""
    pieces = (piece.strip() for piece in _CONTROL.split(text))
    return joined(
        *(
            piece
            for piece in pieces
            if piece not in _HEADERS and not piece.startswith("commentary to=")
        )
    )


@dataclass(frozen=True)
class _Tag:
    name: str
    start: int
    end: int
    closes: bool
    quoted: bool


def _close_of(name: str, tags: Sequence[_Tag], start: int) -> _Tag | None:
    """Return the tag that closes `name`, or else another closing tag; None without one.

    A quoted tag is only returned if no other one follows.
    """
    closing = [tag for tag in tags if tag.closes and tag.start >= start]
    plain = [tag for tag in closing if not tag.quoted]
    same_name = (tag for tag in plain if tag.name == name)
    return next(same_name, next(iter(plain), closing[-1] if closing else None))


def _lone_close(tags: Sequence[_Tag], start: int) -> _Tag | None:
    """Return the first tag, if it is a closing one; quoted tags are left out."""
    first = next((tag for tag in tags if tag.start >= start and not tag.quoted), None)
    return first if first is not None and first.closes else None


def _tags(reply: str) -> Iterator[_Tag]:
    lines = reply.split("\n")
    in_code = _code_lines(lines)
    begin = 0
    for number, line in enumerate(lines):
        if any(sign in line for sign in _SIGNS[:3]):
            for tag in _tags_of_line(line):
                quoted = tag.quoted or number in in_code
                yield _Tag(tag.name, begin + tag.start, begin + tag.end, tag.closes, quoted)
        begin += len(line) + 1


def _tags_of_line(line: str) -> Iterator[_Tag]:
    """Yield the tags of a line; in quotation marks, inline code or a table cell one is quoted."""
    first_bar, last_bar = _table_bars(line)
    cell = _CELL.search(line)
    first_cell = len(line) if cell is None else cell.start()
    last_cell = max((tag.start() for tag in _END_OF_CELL.finditer(line)), default=-1)
    left = {mark: line.count(mark) for mark in '`"'}
    before = dict.fromkeys(left, 0)
    for tag in _TAG.finditer(line):
        if (mark := tag["mark"]) is not None:
            before[mark] += 1
            left[mark] -= 1
            continue
        text = str(tag[tag.lastindex or 0]).lower()
        quoted = (
            any(before[name] % 2 and left[name] for name in left)
            or first_bar <= tag.start() < last_bar
            or first_cell < tag.start() < last_cell
        )
        yield _Tag(text.removeprefix("/"), tag.start(), tag.end(), text[0] == "/", quoted)


def _table_bars(line: str) -> tuple[int, int]:
    """Return the places of the first and last bar of a row of a Markdown table; else (0, 0)."""
    first = len(line) - len(line.lstrip())
    return (first, line.rfind("|")) if line.startswith("|", first) else (0, 0)


def _code_lines(lines: list[str]) -> set[int]:
    """Return the numbers of the lines inside closed code blocks.

    A fence followed by a language never closes a block, so a block that thoughts leave open does
    not reach into the answer.
    """
    inside: set[int] = set()
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        text = line.strip()
        if not text.startswith(_FENCES):
            continue
        if opened is not None and text.strip(text[0]) == "" and text[0] == opened[1]:
            inside.update(range(opened[0], number))
            opened = None
        elif opened is None or text[0] == opened[1]:
            opened = number, text[0]
    return inside
