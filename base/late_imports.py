"""Faces of rooms that are loaded name by name: a command loads what it uses, not all that its rooms have.

    with late_imports(__name__):
        from hocket.schedule.bounds import lower_bound

reads as any other import, for people, type checkers and the walls; `hocket.schedule.bounds` is loaded when somebody
takes `lower_bound` out of the package.
"""

import builtins
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any

__all__ = ["late_imports"]

_SWAP = RLock()


class _Noted:
    """Stands for a module that is not imported yet; its attributes say where they will be found."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __getattr__(self, name: str) -> "_Later":
        return _Later(self.module, name)


class _Later:
    """Stands for a name of a module that is not imported yet."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def load(self) -> Any:
        return getattr(import_module(self.module), self.name)


class _Face(ModuleType):
    """A package that loads what it shows when it is asked for."""

    _later: dict[str, _Later]

    def __getattr__(self, name: str) -> Any:
        if name not in self._later:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = vars(self)[name] = self._later[name].load()
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Python shows a module in its package once it is loaded; a function of its name stays what the package shows.
        if not (isinstance(value, ModuleType) and name in self._later):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._later})


@contextmanager
def late_imports(package: str) -> Iterator[None]:
    """Notes the `from module import name` of a package's `__init__` in place of performing them."""
    face = sys.modules[package]
    shown = vars(face)
    with _SWAP:
        performed = builtins.__import__

        def note(
            name: str,
            names: Mapping[str, object] | None = None,
            local_names: Mapping[str, object] | None = None,
            wanted: Sequence[str] | None = (),
            level: int = 0,
        ) -> Any:
            if names is shown and wanted and not level:
                return _Noted(name)
            return performed(name, names, local_names, wanted or (), level)

        builtins.__import__ = note  # type: ignore[assignment]  # what it makes is no module, but has names
        try:
            yield
        finally:
            builtins.__import__ = performed
    later = {name: value for name, value in shown.items() if isinstance(value, _Later)}
    for name in later:
        del shown[name]
    shown["_later"] = later
    face.__class__ = _Face
