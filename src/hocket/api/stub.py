"""What type checkers and editors know of `import hocket`, whose functions are made when they are named: its stub, made
from the requests.

Run: make docs
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from textwrap import wrap
from typing import Any, get_args, get_type_hints

from hocket.api import MODULES, OTHERS, parameters_of
from hocket.api.fields import Field
from hocket.api.verbs import VERBS, Verb

__all__ = ["stub"]

_HEAD = '''"""Each verb of the `hocket` command as a function, and its request. Generated: make docs."""

# fmt: off
# ruff: noqa: I001
from collections.abc import Sequence
from fractions import Fraction
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
'''
_PARAGRAPH = "\n\n"
_TYPES = """
__version__: str
_Integer: TypeAlias = int | np.integer[Any]
_Number: TypeAlias = float | np.floating[Any] | _Integer
_Text: TypeAlias = str | PathLike[str] | Fraction | _Number
_Integers: TypeAlias = _Integer | Sequence[_Integer] | range
_Texts: TypeAlias = _Text | Sequence[_Text]
"""
_KEPT = "\0"  # a space where no line may end
_NAMES = {bool: "bool", int: "_Integer", float: "_Number", str: "_Text"}


def stub() -> str:
    """The text of `hocket/__init__.pyi`."""
    imports: dict[str, set[str]] = {}
    made: dict[str, list[str]] = {}
    functions = [line for verb in VERBS.values() for line in _function(verb, imports, made)]
    for verb in VERBS.values():
        imports.setdefault(verb.request().__module__, set()).add(f"{verb.request_name} as {verb.request_name}")
    renamed = []
    for name, place in OTHERS.items():
        module, _, attribute = place.partition(":")
        imports.setdefault(module, set()).add(attribute or f"{name} as {name}")
        renamed += [f"{name} = {attribute}"] if attribute else []
    return "\n".join([
        _HEAD + "\n".join(_imports(imports)),
        _TYPES.rstrip(),
        *renamed,
        *(line for lines in made.values() for line in ["", *lines]),
        *functions,
        "",
    ])  # fmt: skip


def _imports(names: dict[str, set[str]]) -> Iterator[str]:
    for module in sorted(names):
        yield from _wrapped(f"from {module} import (", sorted(names[module]), ")")


def _function(verb: Verb, imports: dict[str, set[str]], made: dict[str, list[str]]) -> Iterator[str]:
    request = verb.request()
    parameters = [_parameter(field) for field in parameters_of(request)]
    named = next((at for at, field in enumerate(parameters_of(request)) if not field.is_positional), None)
    if named is not None:
        parameters.insert(named, "*")
    yield ""
    about = _indented(f'"""{(inspect.getdoc(request) or verb.summary).split(_PARAGRAPH)[0]}"""')
    result = _result(verb, imports, made)
    if verb.function not in MODULES:
        yield from _wrapped(f"def {verb.function}(", parameters, f") -> {result}:")
        yield from about
        return
    yield f"class _{verb.function.capitalize()}:"
    yield from about
    yield from (f"    {line}" for line in _wrapped("def __call__(", ["self", *parameters], f") -> {result}: ...", 116))
    yield "    def __getattr__(self, name: str) -> Any: ..."
    yield f"{verb.function}: _{verb.function.capitalize()}"


def _parameter(field: Field) -> str:
    of_one = _NAMES[field.item_type]
    hint = (of_one + "s" if field.is_list else of_one) + (" | None" if field.optional else "")
    default: Any = tuple(field.default) if isinstance(field.default, list) else field.default
    return f"{field.name}: {hint}" + ("" if field.required else f" = {default!r}")


def _result(verb: Verb, imports: dict[str, set[str]], made: dict[str, list[str]]) -> str:
    """What the verb returns. Of one that returns several things, by what it is asked, the first; what only the others
    have is known at run time alone."""
    module, function = verb.request().performed_by()
    hint = get_type_hints(getattr(import_module(module), function))["return"]
    first, *others = get_args(hint) or [hint]
    imports.setdefault(first.__module__, set()).add(first.__name__)
    if not others:
        return str(first.__name__)
    name = f"_{first.__name__}OrOther"
    made[name] = [
        f"class {name}({first.__name__}):",
        f'    """Or {", or ".join(each.__name__ for each in others)}."""',
        "    def __getattr__(self, name: str) -> Any: ...",
    ]
    return name


def _wrapped(start: str, items: list[str], end: str, width: int = 120) -> Iterator[str]:
    line = start + ", ".join(items) + end
    if len(line) <= width:
        yield line.replace("import (", "import ").removesuffix(")") if start.endswith("import (") else line
        return
    yield start
    whole = [item.replace(" ", _KEPT) + "," for item in items]
    yield from (part.replace(_KEPT, " ") for part in _indented(" ".join(whole), width))
    yield end


def _indented(text: str, width: int = 120) -> list[str]:
    return wrap(text, width, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
