"""Commands made from requests: options, help and examples are the request's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from hocket.api.fields import Field
from hocket.api.request import Request
from hocket.base.errors import RequestError
from hocket.base.standard_output import is_standard_output, keep_for_results
from hocket.cli.terminal import Terminal

__all__ = ["SETTINGS", "command_of", "epilog_of"]


def command_of(request: type[Request]) -> Any:
    """The command that reads a request, performs it and shows what it came to."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(
        help=inspect.cleandoc(request.__doc__ or ""),
        epilog=epilog_of(request.examples),
        context_settings=SETTINGS | _LAUNCH_LINE if request.launches else SETTINGS,
    )(_performer(request))
    return typer.main.get_command(app)


SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
_LAUNCH_LINE = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def _performer(request: type[Request]) -> Callable[..., None]:
    fields = request.fields()

    def perform(**values: Any) -> None:
        taken = {name: value for name, value in values.items() if value is not None}
        if any(is_standard_output(taken.get(field.name)) for field in fields if field.is_output):
            keep_for_results()
        terminal = Terminal()
        try:
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


def _parameter(field: Field) -> inspect.Parameter:
    kind = Path if field.type is str and _is_path(field) else field.type
    about: dict[str, Any] = {"help": field.help, "metavar": field.metavar, "envvar": field.variable}
    if field.names_known:
        about["autocompletion"] = lambda incomplete: [name for name in field.known if name.startswith(incomplete)]
    default = inspect.Parameter.empty if field.required else field.default
    if field.is_list:
        kind, default = list[field.item_type], default or None  # type: ignore[name-defined]
    hint = kind if field.required else kind | None
    info: Any = typer.Argument(**about) if field.is_argument else typer.Option(*field.flags, **about)
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, info]
    )


def _is_path(field: Field) -> bool:
    return field.metavar in ("FILE", "DIR", "FOLDER")


def epilog_of(examples: tuple[str, ...]) -> str | None:
    """Examples one a line: what follows a \\b keeps its lines."""
    return "\b\n" + "\n".join([f"Example{'s' if len(examples) > 1 else ''}:", *(f"  {each}" for each in examples)])
