"""Runs a block of Python that a model wrote, over its tables (spec: treb.md section 4).

This module is never imported: its text goes into the sandbox as the runner of a program, and finds
the block in `program`. `job.json` in its folder says the rest:

    kind: `pot` or `icot`; compat; tables: file and header lines by the name of the frame;
    earlier: the blocks that were run before, whose names hold on.

It prints the output of the block for the model, and then ends as the block did.
"""

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

program: str = globals().get("program", "")


def load(tables: Any, compat: str) -> dict[str, Any]:
    """Return the tables as frames, by name."""
    import pandas as pd

    options: dict[str, Any] = {}
    if compat == "fixed":
        options = {"keep_default_na": False, "na_values": [""]}
    frames = {}
    for name, (file, lines) in tables.items():
        header = list(range(lines)) if lines > 1 else (0 if lines else None)
        frames[name] = pd.read_csv(file, header=header, **options)
    return frames


def libraries(text: str) -> dict[str, Any]:
    """Return what a block finds without an import."""
    import numpy as np
    import pandas as pd

    names: dict[str, Any] = {"__name__": "__main__", "np": np, "pd": pd}
    if "plt" in text:
        with contextlib.suppress(ImportError):
            import matplotlib

            matplotlib.use("Agg")
            import matplotlib.pyplot as plt

            names["plt"] = plt
    return names


def last_value(text: str, last: ast.Expr, names: dict[str, Any]) -> str:
    """Return what the last statement of a block shows, as the published code does.

    A call of print is not made: its arguments are evaluated.
    """
    source = ast.get_source_segment(text, last) or ""
    if source.startswith("print("):
        source = source[len("print(") : -1]
    if not source.strip():
        return ""
    exec(f"_shown = {source}", names)  # as the published code, whose messages of errors it has
    value: Any = names.pop("_shown")
    if type(value).__module__.startswith("pandas"):
        if getattr(value, "empty", False) and hasattr(value, "columns"):
            return "Empty DataFrame"
        if hasattr(value, "nlevels"):  # an index
            value = value.tolist()
    return "" if value is None else str(value)


def run_all_but_last(tree: ast.Module, names: dict[str, Any]) -> ast.Expr | None:
    """Run a block up to an expression at its end; return that, None where it ends otherwise."""
    last = tree.body[-1] if tree.body else None
    last_expression = last if isinstance(last, ast.Expr) else None
    body = tree.body if last_expression is None else tree.body[:-1]
    exec(compile(ast.Module(body, []), "<string>", "exec"), names)
    return last_expression


def shown_by_reference(text: str, names: dict[str, Any], printed: io.StringIO) -> str:
    """Run a block; return what the published code shows of it."""
    last = run_all_but_last(ast.parse(text), names)
    if last is None:
        return printed.getvalue()
    value = last_value(text, last, names)
    before = printed.getvalue().strip()
    return f"{before}\n{value}" if before else value


def shown(text: str, names: dict[str, Any], printed: io.StringIO) -> str:
    """Run a block; return what it prints, and the value of an expression at its end."""
    last = run_all_but_last(ast.parse(text, "<string>"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "<string>", "eval"), names)
        if value is not None:
            print(value)
    return printed.getvalue()


def script(text: str, names: dict[str, Any], printed: io.StringIO) -> str:
    exec(compile(text, "<string>", "exec"), names)
    return printed.getvalue()


def failed_line(text: str, error: Exception) -> str:
    """Return the line of a program at which it failed, as far as its own lines tell."""
    number = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while number is None and trace is not None:
        if trace.tb_frame.f_code.co_filename == "<string>":
            number = trace.tb_lineno
        trace = trace.tb_next
    lines = text.splitlines()
    return lines[number - 1].strip() if number and number <= len(lines) else ""


def main(text: str) -> None:
    """Run the blocks before, without a word, and then this one."""
    job = json.loads(Path("job.json").read_text(encoding="utf-8"))
    kind, compat = job["kind"], job["compat"]
    run = script if kind == "pot" else shown_by_reference if compat == "reference" else shown
    names = libraries("".join([*job["earlier"], text])) | load(job["tables"], compat)
    for block in job["earlier"]:
        with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stdout(io.StringIO()):
            run(block, names, io.StringIO())
        if compat == "reference":
            names |= load(job["tables"], compat)
    printed = io.StringIO()
    failure: Exception | None = None
    try:
        with contextlib.redirect_stdout(printed):
            output = run(text, names, printed)
    except SystemExit:
        output = printed.getvalue()
    except Exception as error:
        failure, name = error, f"{type(error).__name__}: {error}"
        if kind == "pot":
            output = f"Error code: {failed_line(text, error)}\nError message: {name}"
        else:
            output = name if compat == "reference" else f"{printed.getvalue()}{name}\n"
    sys.stdout.write(output)
    sys.stdout.flush()
    if failure is not None:
        raise failure


main(program)
