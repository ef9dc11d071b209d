"""The `hocket` command without a process of its own: what a user types and sees, without starting an interpreter."""

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from subprocess import CompletedProcess

from hocket.cli import main


def hocket(*arguments: object) -> CompletedProcess[str]:
    """What `hocket ARGUMENTS` prints, and its exit code."""
    words = [str(argument) for argument in arguments]
    out, error = StringIO(), StringIO()
    code: object = 0
    with redirect_stdout(out), redirect_stderr(error):
        try:
            main(words)
        except SystemExit as left:
            code = left.code or 0
    assert isinstance(code, int), code
    return CompletedProcess(words, code, out.getvalue(), error.getvalue())
