"""Every answer of the starter dataset, computed again from question and table.

This module does not use the package. It matches the words of a question and computes the answer
from the cells, in any order of rows. An ambiguous answer (a tie, a name that occurs twice) fails.
"""

import json
import re
from collections.abc import Callable, Iterable
from importlib.resources import files
from itertools import chain
from typing import Any

import pytest

FOLDER = files("pytest_tablebench.datasets.starter")
TABLES, QUESTIONS = (
    [json.loads(line) for line in (FOLDER / name).read_text("utf-8").split("\n") if line]
    for name in ("tables.jsonl", "questions.jsonl")
)

# H: a heading, I: the heading of the names, N and O: names of rows, V: a value, T: conditions.
WORDINGS = {
    "lookup": ["What is given as {H} for {N}?", "Give the entry under {H} for {N}.",
               "What does the table state as the {H} of {N}?"],
    "row": ["List the {L} of {N}, in this order.", "For {N}, give the {L}, in this order.",
            "What are the {L} of {N}? Give them in this order."],
    "column_of": ["Under which heading does the table give {V} for {N}?",
               "For {N}, which heading has the value {V}?"],
    "find": ["Which {I} has {V} as its {H}?", "Find the entry with {H} {V} and give its {I}.",
             "What is the {I} of the entry whose {H} is {V}?"],
    "neighbour": ["When the entries are ordered by {H} from {E}, which {I} comes directly {S} {N}?",
                  "Sort the entries by {H}, {E}. What is the {I} of the one directly {S} {N}?"],
    "filter": ["List the {I} of every entry {T}, ordered by {H} from {E}.",
               "Which entries are there {T}? Give the {I} of each, from the {B} {H} to the {B}.",
               "Find all entries {T}. Name their {I}, sorted by {H} from {E}."],
    "count": ["How many entries are there {T}?", "Count the entries {T}.",
              "What is the number of entries {T}?"],
    "sum": ["What is the sum of {H} over all entries?{U}",
            "Add up the {H} of all entries. What do you get?{U}"],
    "mean": ["What is the mean of {H} over all entries, rounded to two decimals?{U}",
             "Take the average of {H} over all entries. What is it, rounded to two decimals?{U}"],
    "min": ["What is the lowest value for {H}?",
            "Give the smallest value that the table holds for {H}."],
    "max": ["What is the highest value for {H}?",
            "Give the largest value that the table holds for {H}."],
    "argmax": ["Which {I} has the {M} value for {H}?",
               "What is the {I} of the entry with the {M} {H}?"],
    "topk": ["Give the {I} of the {K} entries with the {M} {H}, starting with the {B}.",
             "Which {K} entries have the {M} values for {H}? List their {I}, from the {B} to the "
             "{B} of these."],
    "which": ["Which has the {C} value for {H}: {N} or {O}?",
              "Of {N} and {O}, which one has the {C} value for {H}?"],
    "whether": ["Is the {H} of {N} {C} than that of {O}? Answer yes or no.",
                "Does {N} have a {C} value for {H} than {O}? Answer yes or no."],
    "difference": ["By how much is the {H} of {N} higher than that of {O}?{U}",
                   "How much higher is the {H} of {N} compared with {O}?{U}"],
    "cell": ["True or false: the {H} of {N} is {V}.",
             "True or false: {N} is listed with {V} as its {H}."],
    "compare": ["True or false: the {H} of {N} is {C} than that of {O}.",
                "True or false: {N} has a {C} value for {H} than {O}."],
    "extreme": ["True or false: of all entries, {N} has the {M} value for {H}.",
                "True or false: no entry has a {C} value for {H} than {N}."],
    "claimed": ["True or false: there {A} exactly {D} {Y} {T}."],
}  # fmt: skip
KINDS = {
    "column": ["column_of"],
    "filter2": ["filter"],
    "argmin": ["argmax"],
    "compare": ["which", "whether", "difference"],
    "statement": ["compare", "extreme", "claimed", "cell"],
}
PARTS = {
    "A": "(?:is|are)", "Y": "entr(?:y|ies)", "V": "(?P<V>.+?)", "T": "(?P<T>whose .+?)",
    "S": "(?P<S>before|after)", "B": "(?:lowest|earliest|highest|latest)", "D": "(?P<D>[0-9]+)",
    "E": "(?:lowest|earliest) to (?:highest|latest)", "C": "(?P<C>higher|lower)",
    "M": "(?P<M>highest|largest|lowest|smallest)", "K": "(?P<K>two|three)",
    "U": r"(?: Give the number with its unit \((?P<U>.+)\), written as in the table\.)?",
}  # fmt: skip
CONDITION = "whose {} (is not|is less than|is greater than|is from|is) (.+)"


def one_of(texts: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, texts), key=len, reverse=True))


def rank(cell: str) -> Any:
    """Return a number without unit and separators; a date or a text unchanged."""
    found = re.fullmatch(r"(?:[$€] ?)?(-?[0-9,]+(?:\.[0-9]+)?)(?: ?[^0-9-]{1,7})?", cell)
    return float(found[1].replace(",", "")) if found else cell


class Entries:
    """The rows of a table, and a method per kind of question that returns the answer."""

    def __init__(self, table: dict) -> None:
        header = table["header"]
        rows = [["" if cell is None else str(cell) for cell in row] for row in table["rows"]]
        self.rows = [dict(zip(header, row, strict=True)) for row in rows if any(row)]
        self.heading = f"(?:{one_of(header)})"
        name = (
            f'(?:the entry with "?{self.heading}"? )?(?P<{{}}>{one_of(filter(None, chain(*rows)))})'
        )
        quoted = f'"?{self.heading}"?'
        self.parts = PARTS | {
            "H": f'"?(?P<H>{self.heading})"?', "I": f'"?(?P<I>{self.heading})"?',
            "N": name.format("N"), "O": name.format("O"),
            "L": f"(?P<L>{quoted}(?:(?:, | and ){quoted})+)",
        }  # fmt: skip

    def answers(self, kind: str, text: str) -> tuple[str, list[str]]:
        """Return the kind of question and the items of the answer; digits for a computed number."""
        for way in KINDS.get(kind, [kind]):
            for wording in WORDINGS[way]:
                pieces = re.split(r"\{(.)\}", wording)
                pattern = "".join(
                    self.parts[piece] if place % 2 else re.escape(piece)
                    for place, piece in enumerate(pieces)
                )
                if found := re.fullmatch(pattern, text):
                    self.said = found.groupdict()
                    answer = getattr(self, way)()
                    return way, answer if isinstance(answer, list) else [answer]
        raise AssertionError(f"{kind}: {text}")

    # Parts of a question

    def entry(self, which: str = "N") -> dict[str, str]:
        """Return the row with a name, a cell of a column without duplicates."""
        name = self.said[which]
        for column in self.rows[0]:
            cells = [row[column].casefold() for row in self.rows]
            if name.casefold() in cells and len(set(cells)) == len(cells):
                return self.rows[cells.index(name.casefold())]
        raise AssertionError(f"{name} is no entry's name")

    def column(self) -> list[float]:
        return [rank(row[self.said["H"]]) for row in self.rows]

    def ordered(self, rows: list[dict[str, str]], count: int | None = None, *, down: bool = False):
        """Return the first rows by a column; a tie among them or with the next row fails."""
        order = sorted(rows, key=lambda row: rank(row[self.said["H"]]), reverse=down)
        first = [rank(row[self.said["H"]]) for row in order][: count and count + 1]
        assert len(set(first)) == len(first), "a tie"
        return order[:count]

    def selected(self) -> list[dict[str, str]]:
        """Return the rows that meet one or two conditions; all or none of the rows fails."""
        text = self.said["T"]
        either = " or whose " in text
        parts = re.split(
            " (?:and|or) (?=whose )", text.removesuffix(" (or both)") if either else text
        )
        sets = [[self.meets(row, part) for row in self.rows] for part in parts]
        kept = [any(found) if either else all(found) for found in zip(*sets, strict=True)]
        assert 0 < sum(kept) < len(kept)
        return [row for row, holds in zip(self.rows, kept, strict=True) if holds]

    def meets(self, row: dict[str, str], text: str) -> bool:
        found = re.fullmatch(CONDITION.format(self.parts["H"]), text)
        assert found, text
        column, test, value = found.groups()
        cell = row[column]
        assert cell
        if test == "is from":
            low, high = value.removesuffix(" (both included)").split(" to ")
            return rank(low) <= rank(cell) <= rank(high)
        if test in {"is", "is not"}:
            return (rank(cell) == rank(value)) == (test == "is")
        return rank(cell) < rank(value) if test == "is less than" else rank(cell) > rank(value)

    def pair(self) -> tuple[float, float]:
        one, two = (rank(self.entry(which)[self.said["H"]]) for which in "NO")
        assert one != two
        return one, two

    def is_first(self) -> bool:
        one, two = self.pair()
        return one > two if self.said["C"] == "higher" else one < two

    # The answer to each kind of question

    def lookup(self):
        return self.entry()[self.said["H"]]

    def row(self):
        own = self.entry()
        return [own[name] for name in re.findall(self.heading, self.said["L"])]

    def column_of(self):
        (heading,) = (name for name, cell in self.entry().items() if cell == self.said["V"])
        return heading

    def find(self):
        column, value = self.said["H"], self.said["V"].casefold()
        (row,) = (row for row in self.rows if row[column].casefold() == value)
        return row[self.said["I"]]

    def neighbour(self):
        order = self.ordered(self.rows)
        place = order.index(self.entry()) + (1 if self.said["S"] == "after" else -1)
        assert place >= 0
        return order[place][self.said["I"]]

    def filter(self):
        return [row[self.said["I"]] for row in self.ordered(self.selected())]

    def count(self):
        return str(len(self.selected()))

    def sum(self):
        return f"{sum(self.column()):.2f}"

    def mean(self):
        return f"{sum(self.column()) / len(self.rows):.2f}"

    def min(self, best: Callable = min):
        wanted = best(self.column())
        (cell,) = {cell for row in self.rows if rank(cell := row[self.said["H"]]) == wanted}
        return cell

    def max(self):
        return self.min(max)

    def argmax(self, count: int = 1):
        down = self.said["M"] in {"highest", "largest"}
        return [row[self.said["I"]] for row in self.ordered(self.rows, count, down=down)]

    def topk(self):
        return self.argmax({"two": 2, "three": 3}[self.said["K"]])

    def which(self):
        return self.said["N" if self.is_first() else "O"]

    def whether(self):
        return "yes" if self.is_first() else "no"

    def difference(self):
        one, two = self.pair()
        return f"{one - two:.2f}"

    def cell(self):
        return str(self.lookup() == self.said["V"]).lower()

    def compare(self):
        return str(self.is_first()).lower()

    def extreme(self):
        down = self.said.get("M") == "highest" or self.said.get("C") == "higher"
        return str(self.ordered(self.rows, 1, down=down) == [self.entry()]).lower()

    def claimed(self):
        return str(len(self.selected()) == int(self.said["D"])).lower()


ENTRIES = {table["id"]: Entries(table) for table in TABLES}


def test_every_stored_answer_equals_the_computed_one():
    ways = set()
    for asked in QUESTIONS:
        table = ENTRIES[asked["table"]]
        way, expected = table.answers(asked["kind"], asked["question"])
        given = asked["answers"]
        if way in {"sum", "mean", "difference"}:
            assert (table.said["U"] or "") in given[0]
            given = [f"{rank(given[0]):.2f}"]
        assert given == expected, asked
        ways.add(way)
    assert ways == set(WORDINGS)


def test_no_question_refers_to_positions_in_the_table():
    places = r"\b(rows?|columns?|lines?|first|second|last|above|below|left|right|top|bottom)\b"
    for asked in QUESTIONS:
        table = ENTRIES[asked["table"]]
        own = one_of({*table.rows[0], *chain(*(row.values() for row in table.rows))} - {""})
        assert not re.search(places, re.sub(own, "#", asked["question"]).casefold()), asked


@pytest.mark.parametrize(
    ("cell", "expected"),
    [("$ -27 m", -27), ("12.5%", 12.5), ("1,240", 1240), ("2001-05-03", "2001-05-03"), ("x", "x")],
)
def test_cells_are_ranked_by_their_numbers(cell, expected):
    assert rank(cell) == expected
