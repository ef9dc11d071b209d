"""Commands made from requests: options, help and examples are the request's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from hocket.api.fields import Field
from hocket.api.request import Request
from hocket.base.errors import RequestError
from hocket.base.standard_output import is_standard_output, keep_for_results
from hocket.cli.printable_errors import PrintableErrors
from hocket.cli.quick_start import load_numpy
from hocket.cli.terminal import Terminal
from hocket.cli.values import kind_of, with_plain_values

__all__ = ["SETTINGS", "command_of", "epilog_of"]


def command_of(request: type[Request]) -> Any:
    """The command that reads a request, performs it and shows what it came to."""

    class Command(PrintableErrors, TyperCommand):
        def get_params(self, ctx: Any) -> list[Any]:
            return with_plain_values(super().get_params(ctx), request.fields())

        def format_help(self, ctx: Any, formatter: Any) -> None:
            # The names that options may take are looked up, and what defines them imported, for help alone.
            helps = {field.name: field.help for field in request.fields()}
            for parameter in self.params:
                if parameter.name in helps:
                    parameter.help = helps[parameter.name]  # type: ignore[attr-defined]  # of typer's parameters
            super().format_help(ctx, formatter)

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(
        cls=Command,
        help=inspect.cleandoc(request.__doc__ or ""),
        epilog=epilog_of(request.examples),
        context_settings=SETTINGS | _LAUNCH_LINE if request.launches else SETTINGS,
    )(_performer(request))
    return typer.main.get_command(app)


SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
_OF_TOPOLOGIES = ("SPEC|FILE", "MACHINE", "TOPOLOGY")
_LAUNCH_LINE = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def _performer(request: type[Request]) -> Callable[..., None]:
    fields = request.fields()

    def perform(**values: Any) -> None:
        taken = {name: value for name, value in values.items() if value is not None}
        if any(is_standard_output(taken.get(field.name)) for field in fields if field.is_output):
            keep_for_results()
        terminal = Terminal()
        load_numpy()
        try:
            with terminal.waiting(request.words()) if _works_alone(request) else nullcontext():
                result = request.of(**taken).perform(terminal)
        except RequestError as error:
            raise typer.BadParameter(str(error)) from error
        terminal.show(result)
        raise typer.Exit(result.exit_code)

    # typer reads what a function takes from its signature
    parameters = [_parameter(field) for field in fields]
    perform.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    perform.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return perform


def _topologies(incomplete: str) -> list[str]:
    """Presets, and the words that specs begin with; the shell completes files by itself where none begins so."""
    from hocket.topology.builders import SHAPES
    from hocket.topology.graphs import GRAPHS
    from hocket.topology.machines.integrated_machines import INTEGRATED
    from hocket.topology.machines.records import MACHINES

    names = [*MACHINES, *INTEGRATED, *SHAPES, *GRAPHS]
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def _works_alone(request: type[Request]) -> bool:
    """Whether nothing of others is printed while it works, and nothing of its own that tells how far it is."""
    return not (request.launches or request.writes_in_steps)


def _parameter(field: Field) -> inspect.Parameter:
    kind = kind_of(field)
    about: dict[str, Any] = {"help": field.description, "metavar": field.metavar, "envvar": field.variable}
    if field.names_known:
        about["autocompletion"] = lambda incomplete: [name for name in field.known if name.startswith(incomplete)]
    elif field.metavar in _OF_TOPOLOGIES:
        about["autocompletion"] = _topologies
    default = inspect.Parameter.empty if field.required else field.default
    if field.is_list:
        kind, default = list[kind], default or None  # type: ignore[valid-type]
    hint = kind if field.required else kind | None
    info: Any = typer.Argument(**about) if field.is_argument else typer.Option(*field.flags, **about)
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, info]
    )


def epilog_of(examples: tuple[str, ...]) -> str | None:
    """Examples one a line: what follows a \\b keeps its lines."""
    return "\b\n" + "\n".join([f"Example{'s' if len(examples) > 1 else ''}:", *(f"  {each}" for each in examples)])
