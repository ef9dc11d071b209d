"""PyTorch's functions in C++ that issue collectives and wait for them before they return (DDP's set-up)."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.hook import Hook

__all__ = ["watch_sections"]

# What of PyTorch 2.4 to 2.15 is such a function.
_SECTIONS = (interfaces.BROADCAST_COALESCED, interfaces.VERIFY_PARAMETERS, interfaces.REBUILD_BUCKETS)


def watch_sections(hook: Hook) -> None:
    """Tells the hook when a thread is in one of them."""
    for section in _SECTIONS:
        function = section.ask()
        if function is not None:
            section.put(_watched(function, hook))


def _watched(function: Callable[..., Any], hook: Hook) -> Callable[..., Any]:
    @wraps(function)
    def section(*arguments: Any, **options: Any) -> Any:
        hook.begin_section()
        returned = False
        try:
            result = function(*arguments, **options)
            returned = True
        finally:
            hook.end_section(returned)
        return result

    return section
