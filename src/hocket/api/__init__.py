"""The face of Hocket: a request for each verb, what performs it, and what it comes to.

`import hocket` shows what is here under its own name.
"""

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hocket.api.verbs import VERBS

if TYPE_CHECKING:
    from hocket.api.fields import Field
    from hocket.api.request import Request

__all__ = ["exported", "function_of", "names", "parameters_of"]

#: Other names of `import hocket`, and the module that each is from.
OTHERS = {
    "HocketError": "hocket.base.errors",
    "communicator": "hocket.plugin",
    "RequestError": "hocket.base.errors",
    "load_topology": "hocket.topology:load",
    "read_traces": "hocket.chakra",
    "request_in": "hocket.api.provenance",
}

#: Verbs that are modules of the same name, too: `python -m hocket.collect`, `hocket.collect.step`.
MODULES = ("collect", "replay")


def names() -> list[str]:
    """All that `import hocket` offers, but for its folders."""
    return [*(verb.function for verb in VERBS.values()), *(verb.request_name for verb in VERBS.values()), *OTHERS]


@cache
def exported(name: str) -> Any:
    """What `hocket.<name>` is. Raises AttributeError for a name that is none."""
    for verb in VERBS.values():
        if name == verb.request_name:
            return verb.request()
        if name == verb.function:
            return import_module(f"hocket.{name}") if name in MODULES else function_of(name)
    if name in OTHERS:
        module, _, attribute = OTHERS[name].partition(":")
        return getattr(import_module(module), attribute or name)
    raise AttributeError(f"module 'hocket' has no attribute '{name}'")


def parameters_of(request: "type[Request]") -> "list[Field]":
    """The fields of a request in the order of its function's parameters."""
    return sorted(request.fields(), key=lambda field: (not field.is_positional, not field.required))


@cache
def function_of(name: str) -> Callable[..., Any]:
    """The function of a verb: it performs a request made of its arguments, and has its fields as signature."""
    request = next(verb.request() for verb in VERBS.values() if verb.function == name)

    def ask(*positional: Any, **options: Any) -> Any:
        return request.ask(*positional, **options)

    fields = request.fields()
    ask.__name__ = ask.__qualname__ = name
    ask.__module__ = "hocket"
    lines = [f"    {field.name}: {field.help}" for field in fields]
    ask.__doc__ = "\n".join([inspect.cleandoc(request.__doc__ or ""), "", *lines, "", "Raises hocket.HocketError."])
    ask.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                field.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD if field.is_positional else inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.required else field.default,
                annotation=field.type | None if field.optional else field.type,
            )
            for field in parameters_of(request)
        ]
    )
    return ask
