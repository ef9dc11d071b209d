"""What is said to people in a process that is not the `hocket` command: a job's own, or a launcher's."""

import sys

from hocket.base.text import printable_lines

__all__ = ["notice"]


def notice(text: str) -> None:
    """Says lines on standard error, at once; what a terminal would obey, in names of files, hosts and groups, is
    escaped."""
    print(printable_lines(text.split("\n")), file=sys.stderr, flush=True)
