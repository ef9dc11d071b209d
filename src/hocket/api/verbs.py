"""All that Hocket does, by the words of its command: the request that asks for it. A new verb is one folder and a line
here; the command, the function of `import hocket` and the reference of all flags come from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hocket.api.request import Request

__all__ = ["VERBS", "Verb"]


@dataclass(frozen=True, slots=True)
class Verb:
    """Where a request is defined (`module:Class`), what is said of it in a line, and the name of its function."""

    target: str
    summary: str
    function: str

    @property
    def request_name(self) -> str:
        return self.target.partition(":")[2]

    def request(self) -> "type[Request]":
        """The request's class; imported now."""
        module, _, name = self.target.partition(":")
        found: type[Request] = getattr(import_module(module), name)
        return found


VERBS: Mapping[str, Verb] = {
    "compare": Verb("hocket.api.compare.request:Comparison", "Say what differs between two predictions.", "compare"),
}
