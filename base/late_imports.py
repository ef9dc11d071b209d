"""Imports that are performed when what they bring is used: a command loads what it needs, not all that there is.

    with late_imports(__name__):
        from hocket.schedule.bounds import lower_bound

reads as any other import, for people, type checkers and the walls between rooms. In the `__init__` of a package, which
does not use the names itself, `hocket.schedule.bounds` is loaded when somebody takes `lower_bound` out of the package;
in another module, when it calls `lower_bound`, or takes something out of it.

Bases of classes, errors to catch and what is compared by `is` are imported as ever, and so is what a module needs in
any case.
"""

import builtins
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any

__all__ = ["late_imports"]

_SWAP = RLock()


class _Noted:
    """Stands for a module that is not imported yet; its attributes say where they will be found."""

    def __init__(self, module: str, names: dict[str, Any]) -> None:
        self._module, self._names = module, names

    def __getattr__(self, name: str) -> "_Later":
        return _Later(self._module, name, self._names)


class _Later:
    """Stands for a name of a module that is not imported yet, until it is used."""

    def __init__(self, module: str, name: str, names: dict[str, Any]) -> None:
        self._of, self._names = (module, name), names

    def _load(self) -> Any:
        module, name = self._of
        found = import_module(module)
        value = getattr(found, name) if hasattr(found, name) else import_module(f"{module}.{name}")
        for known in [known for known, kept in self._names.items() if kept is self]:
            self._names[known] = value
        return value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self._load())


def _loads_first(name: str) -> Callable[..., Any]:
    def use(later: _Later, *values: Any, **options: Any) -> Any:
        loaded = later._load()
        return getattr(type(loaded), name)(loaded, *values, **options)

    return use


# Python looks these up in the type, past `__getattr__`.
_USES = "call contains getitem iter len bool hash str repr format eq ne lt le gt ge or ror"
for _use in _USES.split():
    setattr(_Later, f"__{_use}__", _loads_first(f"__{_use}__"))


class _Face(ModuleType):
    """A package that loads what it shows when it is asked for."""

    _later: dict[str, _Later]

    def __getattr__(self, name: str) -> Any:
        if name not in self._later:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = vars(self)[name] = self._later[name]._load()
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Python shows a module in its package once it is loaded; a function of its name stays what the package shows.
        if not (isinstance(value, ModuleType) and name in self._later):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._later})


@contextmanager
def late_imports(importer: str) -> Iterator[None]:
    """Notes the `from module import name` of the module of that name in place of performing them."""
    module = sys.modules[importer]
    shown = vars(module)
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
                return _Noted(name, shown)
            return performed(name, names, local_names, wanted or (), level)

        builtins.__import__ = note  # type: ignore[assignment]  # what it makes is no module, but has names
        try:
            yield
        finally:
            builtins.__import__ = performed
    if hasattr(module, "__path__"):
        later = {name: value for name, value in shown.items() if isinstance(value, _Later)}
        for name in later:
            del shown[name]
        shown["_later"] = later
        module.__class__ = _Face
