"""The `hocket` command without a process of its own: what a user types and sees, without starting an interpreter."""

import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

from hocket.cli import main


def hocket(*arguments: object, cwd: Path | None = None, columns: int = 80) -> CompletedProcess[str]:
    """What `hocket ARGUMENTS` prints in a terminal of so many columns, and its exit code; `cwd`: where it is run."""
    words = [str(argument) for argument in arguments]
    out, error = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code: object = 0
    before = Path.cwd()
    # Threads of other tests must not make the command end the process, which is pytest's here.
    with (
        redirect_stdout(out),
        redirect_stderr(error),
        patch("hocket.cli._leave", sys.exit),
        patch.dict(os.environ, {"COLUMNS": str(columns)}),
    ):
        os.chdir(cwd or before)
        try:
            main(words)
        except SystemExit as left:
            code = left.code or 0
        finally:
            os.chdir(before)
    assert isinstance(code, int), code
    printed = (stream.buffer.getvalue().decode() for stream in (out, error))  # type: ignore[attr-defined]
    return CompletedProcess(words, code, *printed)
