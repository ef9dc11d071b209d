"""`enum.StrEnum` for Python 3.10 as well, and what ends a choice between the members of an enum."""

import sys
from typing import NoReturn

from hocket.base.errors import HocketError

if sys.version_info >= (3, 11):
    from enum import StrEnum
else:
    from enum import Enum

    class StrEnum(str, Enum):
        """Members are strings and print as their value."""

        __str__ = str.__str__


__all__ = ["StrEnum", "assert_never", "not_here"]


def assert_never(value: NoReturn) -> NoReturn:
    """The last case of a choice that covers all there is: mypy names the members that it forgets, and what comes here
    nevertheless is refused. Raises HocketError that names the value and the place."""
    not_here(value)


def not_here(value: object) -> NoReturn:
    """The last case of a choice that is for some members only: HocketError as `assert_never`."""
    frame = sys._getframe(1)
    if frame.f_code is assert_never.__code__ and frame.f_back is not None:
        frame = frame.f_back
    place = f"{frame.f_globals.get('__name__')}, line {frame.f_lineno}"
    raise HocketError(f"{type(value).__name__} '{value}' means nothing in {place}: say there what it does")
