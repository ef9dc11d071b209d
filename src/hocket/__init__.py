"""Collects, predicts, synthesizes, translates and runs collective communication.

Each verb of the `hocket` command is a function here (`hocket.simulate("traces/", "dgx-h100:nodes=2")`) that takes
paths, names and numbers and returns a result, and a request (`hocket.Simulation`): the same question as data. What is
wrong with it is a `hocket.HocketError`.
"""

from typing import TYPE_CHECKING, Any

from hocket.base.version import __version__ as __version__

if TYPE_CHECKING:
    from hocket.base.errors import HocketError as HocketError


def __getattr__(name: str) -> Any:
    """Functions, requests and errors are imported when they are named: `import hocket` stays quick."""
    from hocket.api import exported

    return exported(name)


def __dir__() -> list[str]:
    from hocket.api import names

    return sorted(["__version__", *names()])
