"""Time of one comparison of FinQA programs, with sympy as the last resort and with sympy alone.

    .venv/bin/python -m benchmarks.fin_qa [--data FOLDER] [--programs 1000]

FOLDER is a FinQA checkout. Its gold programs, with other numbers, are compared with typical replies
of models: the same program, operands in another order, a wrong number, a wrong operation, an
unused step at the beginning, a sum divided term by term. Both rules judge the same pairs in the
same run, and must agree on each.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pytest_tablebench.metrics._fin_qa_equality import same_programs
from pytest_tablebench.metrics._fin_qa_program import tokens_of
from tests.support.plain_fin_qa import plain_same_programs

SLICES = Path(__file__).resolve().parents[2] / "shared/data"
STEP = re.compile(r"(\w+)\(([^()]*), ([^()]*)\)")
Program = list[tuple[str, str, str]]


def read(program: str) -> Program:
    return [(match[1], match[2], match[3]) for match in STEP.finditer(program)]


def written(program: Program) -> str:
    return ", ".join(f"{name}({first}, {second})" for name, first, second in program)


def renumbered(program: Program, draw: random.Random) -> Program:
    """Replace each number by another, equal numbers by equal ones."""
    changed: dict[str, str] = {}

    def new(argument: str) -> str:
        if not re.fullmatch(r"-?[\d.]+%?", argument):
            return argument
        if argument not in changed:
            changed[argument] = re.sub(r"\d", lambda _: str(draw.randint(1, 9)), argument)
        return changed[argument]

    return [(name, new(first), new(second)) for name, first, second in program]


def swapped(program: Program, _: random.Random) -> Program:
    return [
        (name, second, first) if name in {"add", "multiply"} else (name, first, second)
        for name, first, second in program
    ]


def wrong_number(program: Program, draw: random.Random) -> Program:
    number = draw.randrange(len(program))
    name, first, _ = program[number]
    return [*program[:number], (name, first, str(draw.randint(1, 9999))), *program[number + 1 :]]


def wrong_operation(program: Program, draw: random.Random) -> Program:
    number = draw.randrange(len(program))
    _, first, second = program[number]
    name = draw.choice(["add", "subtract", "multiply", "divide"])
    return [*program[:number], (name, first, second), *program[number + 1 :]]


def unused_step(program: Program, _: random.Random) -> Program:
    def later(part: str) -> str:
        return re.sub(r"#(\d+)", lambda found: f"#{int(found[1]) + 1}", part)

    shifted = [(name, later(first), later(second)) for name, first, second in program]
    return [("add", "const_1", "const_2"), *shifted]


def term_by_term(program: Program, _: random.Random) -> Program:
    """Write (a - b) / c as a / c - b / c, if the program has that form."""
    if len(program) == 2 and program[0][0] in {"add", "subtract"} and program[1][0] == "divide":
        (name, first, second), (_divide, top, bottom) = program
        if top == "#0" and "#" not in bottom:
            return [("divide", first, bottom), ("divide", second, bottom), (name, "#0", "#1")]
    return program


KINDS: dict[Callable[[Program, random.Random], Program], int] = {
    lambda program, _: program: 35,
    swapped: 15,
    wrong_number: 20,
    wrong_operation: 15,
    unused_step: 10,
    term_by_term: 5,
}


def pairs(folder: Path, count: int) -> list[tuple[str, str]]:
    golds = [
        read(row["qa"]["program"])
        for name in ("train", "dev", "test")
        for row in json.loads((folder / f"dataset/{name}.json").read_text(encoding="utf-8"))
    ]
    draw = random.Random(0)
    found: dict[tuple[str, str], None] = {}
    while len(found) < count:
        gold = renumbered(draw.choice(golds), draw)
        [change] = draw.choices(list(KINDS), list(KINDS.values()))
        found[written(gold), written(change(gold, draw))] = None
    return list(found)


def timed(
    judge: Callable[[str, str], bool], programs: list[tuple[str, str]]
) -> tuple[float, list[bool]]:
    from sympy.core.cache import clear_cache

    clear_cache()
    started = time.perf_counter()
    verdicts = [judge(gold, given) for gold, given in programs]
    return 1000 * (time.perf_counter() - started) / len(programs), verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    slices = Path(os.environ.get("TABLEBENCH_DATA_SLICES") or SLICES)
    parser.add_argument("--data", type=Path, default=slices / "finqa")
    parser.add_argument("--programs", type=int, default=1000)
    given = parser.parse_args()
    if not (given.data / "dataset/test.json").is_file():
        sys.exit(f"no FinQA checkout in {given.data}; name one with --data")
    programs = pairs(given.data, given.programs)
    started = time.perf_counter()
    import sympy

    imported = time.perf_counter() - started
    ours, verdicts = timed(
        lambda gold, text: same_programs(tokens_of(gold), tokens_of(text)), programs
    )
    plain, expected = timed(plain_same_programs, programs)
    agreed = Counter(one == other for one, other in zip(verdicts, expected, strict=True))[True]
    print(f"{len(programs)} distinct pairs, {sum(expected)} of them equal; ms for each")
    print(f"{'this package':24}{ours:8.3f}")
    print(f"{f'sympy {sympy.__version__} alone':24}{plain:8.3f}")
    print(f"{'ratio':24}{plain / ours:8.1f}")
    print(f"both agree on {agreed}; importing sympy took {imported:.2f} s, once")
    if agreed != len(programs):
        sys.exit("the verdicts differ")


if __name__ == "__main__":
    main()
