"""Questions in the other language, checked by the way back (spec: treb.md section 6.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from pytest_tablebench.errors import ModelError, TableBenchError
from pytest_tablebench.generate._shared import digest_of
from pytest_tablebench.generate.llm._asking import AskingMaker, Follow
from pytest_tablebench.generate.llm._prompts import ask_for_translation, ask_solver, yes_no
from pytest_tablebench.generate.llm.replies import (
    RefusedError,
    plain_text,
    read_object,
    read_solution,
)
from pytest_tablebench.generate.rules import Other, Pair
from pytest_tablebench.generate.rules.generate import plain_question, says
from pytest_tablebench.generate.values import parse_number
from pytest_tablebench.metrics import score
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.metrics.typed_answer import typed_answer
from pytest_tablebench.metrics.typed_dates import read_moment
from pytest_tablebench.tables.table import Table

_CHUNK = 2_000
"""Characters of a table's texts that are translated at once: the reply has to hold them."""

_MOST_CHUNKS = 20
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_LATIN = re.compile(r"[a-zA-Z]+")
_OTHER = {"en": "zh", "zh": "en"}
_DIGITS = re.compile(r"\d+(?:[.,:/-]\d+)*")
_LISTS = {"list", "ordered_list"}


class OwnQuestion(Protocol):
    """A question of a dataset folder; see `datasets.folder`."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def answers(self) -> tuple[str, ...]: ...
    @property
    def context(self) -> Mapping[str, Any]: ...
    @property
    def tags(self) -> Mapping[str, str]: ...
    @property
    def perturbations(self) -> tuple[str, ...] | None: ...
    @property
    def metric(self) -> str | None: ...
    @property
    def threshold(self) -> float | None: ...
    @property
    def aliases(self) -> Mapping[str, tuple[str, ...]]: ...


@dataclass(frozen=True)
class Questions:
    """The questions about one table that are asked in one language.

    Arguments:
        entries: the questions.
        language: theirs, `en` or `zh`.
        threshold: the score from which an answer is right that does not say so itself.
    """

    entries: Sequence[OwnQuestion]
    language: str
    threshold: float = 1.0


@dataclass
class _Translations:
    """Translations that are in use for a table."""

    by_text: dict[str, str] = field(default_factory=dict)

    def back(self) -> _Translations:
        return _Translations({translation: text for text, translation in self.by_text.items()})

    def of(self, table: Table) -> Table:
        """Return a table with the translation of each of its texts."""

        def other(cell: Any) -> Any:
            return self.by_text.get(str(cell), cell)

        return Table(
            tuple(map(other, table.header)),
            tuple(tuple(map(other, row)) for row in table.rows),
            other(table.title) if table.title else None,
            name=table.name,
        )

    def inside(self, text: str) -> dict[str, str]:
        """Return the translations of what stands in a text, the longest first."""
        folded = plain_question(text)
        names = [name for name in self.by_text if plain_question(name) in folded]
        return {name: self.by_text[name] for name in sorted(names, key=len, reverse=True)}


@dataclass(frozen=True)
class _Both:
    """A table and its translation, with the questions and the words in use."""

    table: Table
    other: Table
    original: Questions
    words: _Translations


class Translator(AskingMaker):
    """Translates the questions of one table after the other, as far as models have been asked.

    Each question is translated, and translated back by a call that does not know it. A solver
    answers the translated question from the translated table, and the one that came back from the
    table itself: both answers have to be right.

    Arguments:
        follow: drives conversations.
        model: that translates.
        solver: that answers.
        questions: by the name of their table.
        to: the language, `en` or `zh`.
    """

    def __init__(
        self,
        follow: Follow,
        *,
        model: str,
        solver: str,
        questions: Mapping[str, Questions],
        to: str,
    ) -> None:
        super().__init__(follow)
        self._model, self._solver = model, solver
        self._questions, self._to = questions, to

    def make(self, table: Table, most: int | None) -> tuple[str, Iterator[Pair]] | None:
        """Return a digest of the table with its questions, and these translated.

        None is a table that is left out, or that has no translation yet.
        """
        original = self._questions[table.name or ""]
        try:
            words = self._words(table, original)
        except RefusedError as error:
            self.skip(f"not translated: {error.reason}")
            return None
        except ModelError as error:
            self.skip(f"not translated: no reply: {error.reason}")
            return None
        if words is None:
            return None
        digest = digest_of(
            table.title, table.lines, [question.text for question in original.entries]
        )
        return digest, islice(self._pairs(table, original, words), most)

    def _words(self, table: Table, original: Questions) -> _Translations | None:
        """Return the translation of a table's texts; None: it is not there yet."""
        cells = [table.title or "", *table.header, *(cell for row in table.rows for cell in row)]
        texts = list(dict.fromkeys(filter(_is_words, map(str, cells))))
        chunks = list(_chunks(texts))
        if len(chunks) > _MOST_CHUNKS:
            raise RefusedError("too long")
        steps = [ask_for_translation(chunk, {}, original.language, self._model) for chunk in chunks]
        replies = [self._reply_to(step) for step in steps]
        translations: list[str] = []
        for chunk, reply in zip(chunks, replies, strict=True):
            if reply is not None:
                translations += read_texts(reply, chunk)
        if None in replies:
            for question in original.entries:
                self._expect(table, original, question)
            return None
        if len(set(map(plain_question, translations))) < len(set(map(plain_question, texts))):
            raise RefusedError("two texts have become one")
        return _Translations(dict(zip(texts, translations, strict=True)))

    def _expect(self, table: Table, original: Questions, question: OwnQuestion) -> None:
        """Note what will be asked of a question when its table is translated."""
        step = ask_for_translation([question.text], {}, original.language, self._model)
        self.further += [(step, 2), (self._to_solver(table, question, question.text, 0), 2)]

    def _pairs(self, table: Table, original: Questions, words: _Translations) -> Iterator[Pair]:
        both = _Both(table, words.of(table), original, words)
        for question in original.entries:
            pair = None
            with self._counted():
                pair = self._pair(both, question)
            if pair is not None:
                kind = question.tags.get("subtask", question.context["kind"])
                self.tally.recipes[kind] += 1
                yield pair
        self.tally.tables["used"] += 1

    def _pair(self, both: _Both, question: OwnQuestion) -> Pair | None:
        """Return a question in the other language; None as long as models have not replied."""
        language, words = both.original.language, both.words
        texts = [question.text, *_own_words(question, words)]
        step = ask_for_translation(texts, words.inside(texts[0]), language, self._model)
        reply = self._reply_to(step)
        if reply is None:
            self._expect(both.table, both.original, question)
            return None
        translated_texts = read_texts(reply, texts)
        translations = words.by_text | dict(zip(texts[1:], translated_texts[1:], strict=True))
        translated, answers = translated_texts[0], self._answers(question, translations)
        if language_of(translated) != self._to:
            raise RefusedError("question is not translated")
        if _numbers(translated) != _numbers(question.text):
            raise RefusedError("numbers of the question have changed")
        if question.context["kind"] != "yes_no":
            _require_unsaid(question, translated, answers)
        if self._is_solved(both, question, translated, answers):
            return self._made(both.other, question, translated, answers, translations)
        return None

    def _is_solved(
        self, both: _Both, question: OwnQuestion, translated: str, answers: tuple[str, ...]
    ) -> bool:
        """Whether a solver is right both ways; False, too, as long as models have not replied.

        Raises `RefusedError` where it is not right, and `ModelError`.
        """
        translations = both.words.back().inside(translated)
        back = self._reply_to(
            ask_for_translation([translated], translations, self._to, self._model)
        )
        returned = question.text if back is None else read_texts(back, [translated])[0]
        reply = self._reply_to(self._to_solver(both.other, question, translated, 0))
        threshold = both.original.threshold
        if reply is not None and not _is_right(reply, answers, question, self._to, threshold):
            raise RefusedError("translated question is answered otherwise")
        last = self._to_solver(both.table, question, returned, 1)
        if back is None:
            self.further.append((last, 1))
        returned_reply = None if back is None else self._reply_to(last)
        expected, language = question.answers, both.original.language
        if returned_reply is not None and not _is_right(
            returned_reply, expected, question, language, threshold
        ):
            raise RefusedError("question that came back is answered otherwise")
        return reply is not None and returned_reply is not None

    def _made(
        self,
        other: Table,
        question: OwnQuestion,
        translated: str,
        answers: tuple[str, ...],
        translations: Mapping[str, str],
    ) -> Pair:
        context = question.context
        unit = context.get("unit", "")
        new_answers = dict(zip(question.answers, answers, strict=True))
        return Pair(
            id=f"{question.id}-{self._to}",
            question=translated,
            answers=answers,
            metric=question.metric or context["kind"],
            tolerance=context.get("tolerance", ""),
            unit=translations.get(unit, unit),
            tags={**question.tags, "language": self._to, "translation_of": question.id},
            perturbations=question.perturbations or (),
            other=Other(self._to, other),
            threshold="" if question.threshold is None else str(question.threshold),
            aliases={
                new_answers[answer]: tuple(translations.get(name, name) for name in names)
                for answer, names in question.aliases.items()
            },
        )

    def _answers(self, question: OwnQuestion, translations: Mapping[str, str]) -> tuple[str, ...]:
        if question.context["kind"] == "yes_no":
            yes, no = yes_no(self._to)
            says_yes = typed_answer(question.answers[0], [yes], kind="yes_no").value == 1.0
            return (yes if says_yes else no,)
        return tuple(translations.get(answer, answer) for answer in question.answers)

    def _to_solver(self, table: Table, question: OwnQuestion, text: str, number: int) -> Ask:
        """Return a question to the solver: 0 there, 1 when it has come back."""
        language = self._to if number == 0 else _OTHER[self._to]
        shape = _shape(question)
        return ask_solver(
            table, text, metric=shape, language=language, number=number, model=self._solver
        )


def _is_right(
    reply: str, expected: Sequence[str], question: OwnQuestion, language: str, threshold: float
) -> bool:
    """Whether a solver's reply is the answer, as a run would judge it.

    `threshold` holds where the question has none. Raises `RefusedError` for what is no answer.
    """
    items = read_solution(reply, _shape(question), yes_no(language))
    metric, context = question.metric or "typed_answer", question.context
    try:
        graded = score(metric, "\n".join(items), list(expected), **context)
    except TableBenchError:
        raise RefusedError("answer cannot be compared") from None
    return graded.value >= (threshold if question.threshold is None else question.threshold)


def _own_words(question: OwnQuestion, words: _Translations) -> list[str]:
    """Return the words of answers, aliases and unit that the table does not have."""
    texts = [name for names in question.aliases.values() for name in names]
    texts.append(question.context.get("unit", ""))
    if question.context["kind"] != "yes_no":
        texts += question.answers
    return [text for text in dict.fromkeys(texts) if text not in words.by_text and _is_words(text)]


def _shape(question: OwnQuestion) -> str:
    """Return how a solver writes the answer: as one text, several, a number, or yes or no."""
    kind = question.context["kind"]
    if kind in _LISTS or len(question.answers) > 1:
        return "list"
    return kind if kind in {"number", "yes_no"} else "text"


def language_of(text: str) -> str:
    """Return the language of a text, `en` or `zh`; names in it may be of the other one."""
    return "zh" if len(_CHINESE.findall(text)) > len(_LATIN.findall(text)) else "en"


def read_texts(reply: str, texts: Sequence[str]) -> list[str]:
    """Return the translations of texts, in their order. Raises `RefusedError`."""
    translations = read_object(reply, ["texts"], "reply is no list of texts")["texts"]
    if not isinstance(translations, list) or len(translations) != len(texts):
        raise RefusedError("reply is no list of texts")
    return [
        plain_text(translation, 100 + 4 * len(text), "translation")
        for translation, text in zip(translations, texts, strict=True)
    ]


def _is_words(text: str) -> bool:
    """Whether a text is to be translated: numbers and dates stay as they are."""
    if not any(map(str.isalpha, text)) or parse_number(text) is not None:
        return False
    return read_moment(text) is None


def _chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for text in texts:
        if chunk and sum(map(len, chunk)) + len(text) > _CHUNK:
            yield chunk
            chunk = []
        chunk.append(text)
    if chunk:
        yield chunk


def _numbers(text: str) -> list[str]:
    return sorted(number.replace(",", "") for number in _DIGITS.findall(text))


def _require_unsaid(question: OwnQuestion, translated: str, answers: Sequence[str]) -> None:
    """Raise `RefusedError` where a translation says the answer that the question did not say."""
    before, after = plain_question(question.text), plain_question(translated)
    is_said = any(says(before, answer) for answer in question.answers)
    if not is_said and any(says(after, answer) for answer in answers):
        raise RefusedError("answer in question")
