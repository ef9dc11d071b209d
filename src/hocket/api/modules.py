"""Modules of hocket that are verbs, too: `hocket.collect(...)` collects, and `hocket.collect.step` ends a step."""

import sys
from inspect import Signature
from types import ModuleType
from typing import Any

__all__ = ["make_verb"]


class _VerbModule(ModuleType):
    """A module that is called as the verb of its name."""

    def __call__(self, *positional: Any, **options: Any) -> Any:
        return _function(self)(*positional, **options)

    @property
    def __signature__(self) -> Signature:
        signature: Signature = _function(self).__signature__
        return signature


def _function(module: ModuleType) -> Any:
    from hocket.api import function_of

    return function_of(module.__name__.removeprefix("hocket."))


def make_verb(name: str) -> None:
    """Lets the module of that name be called; of a program (`python -m`) nothing is changed."""
    if name != "__main__":
        sys.modules[name].__class__ = _VerbModule
