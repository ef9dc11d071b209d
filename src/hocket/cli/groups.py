"""`hocket` and its groups of commands: each command is imported only when it is named."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hocket import __version__
from hocket.api.verbs import VERBS
from hocket.cli.command import SETTINGS, command_of

__all__ = ["group_of"]

#: Groups of commands, by their words, and what each is about.
GROUPS: dict[str, str] = {}


EPILOG = "\b\nExample:\n  hocket synthesize all_reduce -t mesh:4x4,bandwidth=50GB/s,latency=500ns -s 64MiB"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def group_of(words: str, summary: str, old: dict[str, tuple[str, str]]) -> Any:
    """The group whose commands begin with `words` (empty: all of `hocket`); `old` are commands that are typer
    applications of their own: module and summary by name."""
    prefix = f"{words} " if words else ""
    summaries = {name: each[1] for name, each in old.items()}
    for name, text in [*((name, verb.summary) for name, verb in VERBS.items()), *GROUPS.items()]:
        rest = name.removeprefix(prefix)
        if name.startswith(prefix) and " " not in rest:
            summaries.setdefault(rest, text)

    class Group(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return list(summaries)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            name = prefix + cmd_name
            if name in VERBS:
                return command_of(VERBS[name].request())
            if name in GROUPS:
                return group_of(name, GROUPS[name], {})
            if cmd_name in old:
                return typer.main.get_command(import_module(old[cmd_name][0]).app)
            return None

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl(list(summaries.items()))

    app = typer.Typer(
        cls=Group,
        help=summary,
        add_completion=not words,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings=SETTINGS,
        epilog=None if words else EPILOG,
    )
    app.callback()(_with_version if not words else _nothing)
    return typer.main.get_command(app)


def _nothing() -> None:
    pass


def _with_version(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
