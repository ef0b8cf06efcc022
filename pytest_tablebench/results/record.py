"""The record of one case: what a run is worth once the models are gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Literal

from pytest_tablebench.errors import SettingsError

SCHEMA = 2
"""Version of every file in a run folder; raised when a reader would misread the old form.

Schema 2 says how a case was judged: `part`, `threshold`, `steps`, `tags`.
"""

ASSERTION = "assertion"
"""The metric of cases that no metric scores: they are right where all their tests pass."""

_ENCODE = json.JSONEncoder(default=str).encode
_TEXT, _NUMBER = (str, type(None)), (int, float, type(None))

Outcome = Literal["right", "wrong", "no_answer", "scored"]
"""How a case ends; `scored` means a score without a verdict."""


def outcome_of_score(score: float | None, passed: bool | None) -> Outcome:
    """Return the outcome for a score and a verdict; None stands for a missing one."""
    if score is None:
        return "no_answer"
    return "scored" if passed is None else "right" if passed else "wrong"


@dataclass(frozen=True)
class Record:
    """One line of `records.jsonl`.

    `score` and `passed` are None without an answer, `reason` is set only then; the score is the
    dataset's own metric, whatever tests do. With the outcome `scored`, `passed` is None too. `part`
    names the entry of `parts` that equals the score; None where there is none or it is unknown.
    `threshold` is the score from which the case is right; None where no metric scored an answer,
    and in schema 1 unless the run names it.
    `checks` tells of each test over the case, by its name, whether it passed; None where it
    failed before it could tell. `prediction` is the reply as the metric read it, `raw` as it
    came. `tags` say what kind of question it is. `preserves_meaning` is False where the
    perturbation leaves another question than the plain table's. `steps` are those of an answer
    that took more than one: kind, digest of text or program, outcome, model, tokens, cost and
    seconds of each; `transcript` is the digest of what was said in them, as texts.jsonl.gz has it.
    Cost and token counts are None when unknown, never 0; `reasoning_tokens` are those of
    `completion_tokens` that were thinking. `reply_limit` is how many tokens the reply could have.
    `repeat` is 1 the first time a case is
    asked, 2 the second, and so on; a record without it comes from a run that asked once.
    `cluster` names what the example shares with others: its table, document or paraphrase group.
    Intervals take clusters as independent, not examples. None in records of earlier versions, and
    where the example could not be loaded.
    """

    case_id: str
    model: str
    benchmark: str
    dataset: str
    example_id: str
    serializer: str
    perturbation: str
    repeat: int = field(default=1, kw_only=True)
    strategy: str
    modality: str
    outcome: Outcome
    score: float | None = None
    threshold: float | None = field(default=None, kw_only=True)
    passed: bool | None = None
    metric: str | None = None
    part: str | None = field(default=None, kw_only=True)
    parts: Mapping[str, float] = field(default_factory=dict)
    checks: Mapping[str, bool | None] = field(default_factory=dict)
    prediction: Any = None
    raw: str | None = None
    references: tuple[str, ...] = ()
    reason: str | None = None
    flags: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    preserves_meaning: bool = field(default=True, kw_only=True)
    prompt_digest: str | None = None
    steps: tuple[Mapping[str, Any], ...] = field(default=(), kw_only=True)
    transcript: str | None = field(default=None, kw_only=True)
    cluster: str | None = field(default=None, kw_only=True)
    latency_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = field(default=None, kw_only=True)
    reply_limit: int | None = field(default=None, kw_only=True)
    cost_usd: float | None = None
    from_store: bool = False

    @property
    def answer_mark(self) -> int | None:
        """A mark of the answer, the same for the same prediction; None without an answer.

        Where no metric read the reply it is that of the reply itself.
        """
        if self.score is None:
            return None
        return answer_mark(self.raw if self.prediction is None else self.prediction)

    @property
    def cuts(self) -> Mapping[str, float]:
        """`cut_off` or `truncated`, counted as 1, and the limit; empty if it ended no reply."""
        return cuts_of(self.reason, self.flags, self.reply_limit)

    def to_line(self) -> str:
        """Return one line of ASCII JSON, which no text inside can break.

        What a post-processor of somebody's own made of a reply is written as its text.
        """
        return _ENCODE({"schema": SCHEMA, **vars(self)}) + "\n"

    @classmethod
    def from_line(cls, line: str, thresholds: Mapping[str, float] | None = None) -> Record:
        """Read a line back: `ValueError` for a torn one, `SettingsError` for a newer schema.

        `thresholds` are those by dataset that the run names: a line of schema 1 has none.
        """
        data = json.loads(line)
        if not isinstance(data, dict):
            raise ValueError("not a record")
        check_schema(data, "records.jsonl")
        try:
            record = cls(**{name: value for name, value in data.items() if name in _NAMES})
        except TypeError as error:
            raise ValueError(str(error)) from None
        if not isinstance(record.case_id, str):
            raise ValueError("its case has no name")
        if not (isinstance(record.part, _TEXT) and isinstance(record.threshold, _NUMBER)):
            raise ValueError("its part or threshold is none")
        if not (
            isinstance(record.tags, dict)
            and all(isinstance(tag, str) for tag in record.tags.values())
        ):
            raise ValueError("its tags are no names and texts")
        if not isinstance(record.cluster, _TEXT):
            raise ValueError("its cluster is no text")
        if record.threshold is None and record.score is not None and record.metric != ASSERTION:
            record = replace(record, threshold=(thresholds or {}).get(str(record.dataset)))
        return record


CUTS = ("cut_off", "truncated")
"""How a token limit may end a reply: before the answer (a reason), or within it (a flag)."""

CUT_AT = "limit"
"""The entry beside one of `CUTS` for the limit, in tokens."""

_NOT_CUT: Mapping[str, float] = {}


def cuts_of(reason: object, flags: object, limit: object = None) -> Mapping[str, float]:
    """Return how the token limit ended a case's replies, see `CUTS`; empty if it did not.

    `limit` is the limit of the last reply, in tokens.
    """
    is_truncated = isinstance(flags, tuple | list) and CUTS[1] in flags
    if reason != CUTS[0] and not is_truncated:
        return _NOT_CUT
    # A plain dictionary: it goes from one process to another.
    cuts = {CUTS[reason != CUTS[0]]: 1.0}
    return cuts | {CUT_AT: float(limit)} if isinstance(limit, int) else cuts


_NAMES = {item.name for item in fields(Record)}


def answer_mark(answer: Any) -> int | None:
    """Return a digest of 8 bytes as a number other than 0: an answer may be long."""
    if answer is None:
        return None
    text = answer if isinstance(answer, str) else json.dumps(answer, sort_keys=True, default=str)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True) or 1


def case_key(record: Record) -> str:
    """Return the case id without the model that a run of several has in it.

    It is the same for every model's run, so that cases of two runs find each other by it.
    """
    # The parts are slugs and have no slash in them; only the dataset's name may.
    parts = str(record.case_id).split("/")[: str(record.dataset).count("/") + 4]
    return "/".join([*parts, f"r{record.repeat}"] if record.repeat > 1 else parts)


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A record without its texts: a row of the score table, small enough to keep for each case."""

    benchmark: str
    dataset: str
    example_id: str
    serializer: str
    perturbation: str
    score: float | None
    passed: bool | None
    reason: str | None
    repeat: int = 1
    checks: Mapping[str, bool | None] = field(default_factory=dict)
    strategy: str = "direct"
    modality: str = "text"
    parts: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    answer_mark: int | None = None
    preserves_meaning: bool = True
    cluster: str | None = None
    cuts: Mapping[str, float] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        """Return the outcome that the case had."""
        return outcome_of_score(self.score, self.passed)


_row_fields: Callable[[Record | ScoreRow], tuple[Any, ...]] = attrgetter(
    *(item.name for item in fields(ScoreRow))
)


def row_values(record: Record | ScoreRow) -> tuple[Any, ...]:
    """Return what `ScoreRow` takes from a record, in its order."""
    return _row_fields(record)


def check_schema(data: Mapping[str, Any], file: str) -> None:
    """Raise `SettingsError` for a file a later version wrote."""
    schema = data.get("schema", SCHEMA)
    if not isinstance(schema, int) or schema > SCHEMA:
        raise SettingsError(
            f"{file} has schema {schema!r}, this version reads up to {SCHEMA}; "
            f"upgrade pytest-tablebench"
        )
