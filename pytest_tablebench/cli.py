"""The `tablebench` command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pytest_tablebench.commands.outputs import CommandAnswer, print_lines, show_answer
from pytest_tablebench.commands.parser import answer_of, make_parser, split_arguments
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.util.names import printable
from pytest_tablebench.util.notices import Notices


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 after an error or Ctrl-C, in one line.

    `rejudge` and `merge` return the code of the gates: 0 all hold, 10 one fails, 11 one is
    undecided or the merged run is incomplete. `migrate` returns 0 for yes, 10 for no, 11 for
    undecided. `watch` returns 10 for a drift and 11 if the look cannot tell. `check` and
    `store verify` return 1 if they find a
    problem, `sandbox` if no sandbox works, and `doctor` if no run is possible.
    """
    # A terminal that cannot show a character gets an escape for it instead of a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    parser = make_parser()
    words, rest = split_arguments(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(words, argparse.Namespace(rest=rest))
    code = 0
    notices = Notices(lambda text: print(f"tablebench: {text}", file=sys.stderr))
    try:
        if options.command is None:
            print(parser.format_first(), end="")
        else:
            answer = answer_of(options)
            if isinstance(answer, CommandAnswer):
                code = answer.code  # also if the reader of the report has ended
                show_answer(options, answer)
            else:
                lines, code = answer
                print_lines(lines)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output, such as `head`, has ended. Discard the rest, or Python reports
        # the broken pipe again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("tablebench: interrupted; run the same command again", file=sys.stderr)
        return 2
    except TableBenchError as error:
        print(f"tablebench: {printable(str(error))}", file=sys.stderr)
        return 2
    finally:
        notices.close()
    return code
