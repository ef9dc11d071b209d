"""What `--help` says, of every command: taken from the commands themselves."""

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from hocket.cli import SUMMARY
from hocket.cli.groups import group_of


def help_texts() -> Iterator[tuple[str, str]]:
    """Each command (`hocket nccl tuner make`), and its help."""
    yield from _texts("hocket", group_of("", SUMMARY), None)


def _texts(name: str, command: Any, parent: typer.Context | None) -> Iterator[tuple[str, str]]:
    context = typer.Context(command, info_name=name.split()[-1], parent=parent, max_content_width=500)
    command.rich_markup_mode = None
    said = [command.help or "", command.epilog or ""]
    said += [f"{'/'.join(each.opts)} {getattr(each, 'help', None) or ''}" for each in command.params]
    yield name, "\n".join(said)
    if isinstance(command, TyperGroup):
        for each in command.list_commands(context):
            if (inside := command.get_command(context, each)) is not None:
                yield from _texts(f"{name} {each}", inside, context)
