"""What is wrong with the words of a command line, said without obeying them: a shell's `*` may have filled them in."""

from typing import Any

import typer

from hocket.base.text import printable

__all__ = ["PrintableErrors"]

_UsageError: Any = typer.BadParameter.__base__  # of the click that typer is made of, which has no public name


class PrintableErrors:
    """To be put in front of a command's or a group's class."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().make_context(*arguments, **options)  # type: ignore[misc]  # of the class behind this one
        except _UsageError as error:
            # A group without a command fails with its own help, whose lines are no one else's words.
            if error.ctx is None or error.message != error.ctx.get_help():
                error.message = printable(error.message)
            raise
