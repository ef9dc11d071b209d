"""`hocket` and its groups of commands: each command is imported only when it is named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hocket.api.verbs import VERBS
from hocket.base.strict_yaml import nearest
from hocket.base.text import printable
from hocket.base.version import __version__
from hocket.cli.command import SETTINGS, command_of, epilog_of
from hocket.cli.printable_errors import PrintableErrors
from hocket.cli.values import with_plain_values

__all__ = ["group_of"]

#: Groups of commands, by their words, and what each is about.
GROUPS = {
    "bench": "Run benchmarks: published claims, and other tools on the same problems.",
    "collect": "Record a job's collectives as Chakra traces.",
    "generate": "Generate Chakra traces of jobs, without running them.",
    "nccl": "Show what stock NCCL does on a cluster, and what it did in a job.",
    "nccl profile": "Read what NCCL's profiler plugin recorded of a job.",
    "nccl tuner": "Make and check tables for NCCL's tuner plugin.",
    "sweep": "Simulate a grid of what-ifs, and draw it.",
    "topology": "Describe, check and convert a network topology: a file, a spec or a preset.",
    "trace": "Inspect, check, edit and convert Chakra traces.",
}


_EXAMPLE = "hocket synthesize all_reduce -t mesh:4x4,bandwidth=50GB/s,latency=500ns -s 64MiB"


def _example(prefix: str) -> tuple[str, ...]:
    """Of a group: that of its first command."""
    first = next(verb for name, verb in VERBS.items() if name.startswith(prefix))
    return first.request().examples[:1] if prefix else (_EXAMPLE,)


def _meant(word: str, prefix: str, known: Iterable[str]) -> str:
    """The commands that end like a word that is no command here, else the nearest one; and all that there are."""
    ends = [name for name in VERBS if name.startswith(prefix) and name.endswith(f" {word}")]
    if not ends:
        return nearest(word, known)
    return f"did you mean {' or '.join(f'{name!r}' for name in ends)}? known: {', '.join(sorted(known))}"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def group_of(words: str, summary: str) -> Any:
    """The group whose commands begin with `words` (empty: all of `hocket`)."""
    prefix = f"{words} " if words else ""
    summaries: dict[str, str] = {}
    for name, verb in VERBS.items():
        if name.startswith(prefix):
            first, *more = name.removeprefix(prefix).split()
            summaries.setdefault(first, GROUPS[prefix + first] if more else verb.summary)

    class Group(PrintableErrors, TyperGroup):
        def get_params(self, ctx: Any) -> list[Any]:
            return with_plain_values(super().get_params(ctx))

        def list_commands(self, ctx: Any) -> list[str]:
            return list(summaries)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            name = prefix + args[0]
            if name in VERBS and " ".join([name, *args[1:2]]) not in VERBS:  # a verb, though others begin like it
                return args[0], command_of(VERBS[name].request()), args[1:]
            if args[0] not in summaries and not args[0].startswith("-"):
                ctx.fail(f"No such command '{printable(args[0])}'; {_meant(args[0], prefix, summaries)}")
            return super().resolve_command(ctx, args)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            name = prefix + cmd_name
            if name in GROUPS:
                return group_of(name, GROUPS[name])
            return command_of(VERBS[name].request()) if name in VERBS else None

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
        epilog=epilog_of(_example(prefix)),
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
