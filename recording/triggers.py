"""Files by which windows are asked for and agreed on while a job runs: `trigger/` in the collection's folder."""

import secrets
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from hocket.base.files import write_json

__all__ = [
    "TriggerRequest",
    "TriggeredWindow",
    "ask",
    "count_published",
    "count_requests",
    "publish",
    "published",
    "take_request",
]

_MARGIN_S = 1.0


class TriggerRequest(msgspec.Struct, frozen=True):
    """Somebody wants `steps` steps: why, how long ahead ranks are told (they look at the folder at different times),
    and in which step a rank wants it, None from outside."""

    reason: str
    steps: int
    margin_s: float = _MARGIN_S
    step: int | None = None


class TriggeredWindow(msgspec.Struct, frozen=True):
    """All ranks record from step `start` on, to before step `end`."""

    number: int
    start: int
    end: int
    reason: str

    @property
    def name(self) -> str:
        """The part of the recording."""
        return f"trigger{self.number}"


def _request_paths(folder: Path) -> list[Path]:
    """The requests that nobody has taken, the oldest first: their names begin with when they were made."""
    return sorted((folder / "trigger").glob("request-*.json"))


def _window_path(folder: Path, number: int) -> Path:
    return folder / "trigger" / f"{number}.json"


def ask(folder: Path, request: TriggerRequest) -> Path:
    """Leaves a request for rank 0, behind those that it has not seen; returns the file.

    Raises HocketError when it cannot be written.
    """
    path = folder / "trigger" / f"request-{time.time_ns():020}-{secrets.token_hex(3)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, msgspec.to_builtins(request))
    return path


def take_request(folder: Path) -> TriggerRequest | None:
    """The oldest request that is there, which is then there no more, nor files before it that are none; None for
    none."""
    for path in _request_paths(folder):
        with suppress(OSError, msgspec.DecodeError):
            data = path.read_bytes()
            path.unlink()
            return msgspec.json.decode(data, type=TriggerRequest)
    return None


def count_requests(folder: Path) -> int:
    """How many requests rank 0 has not taken."""
    return len(_request_paths(folder))


def publish(folder: Path, window: TriggeredWindow) -> None:
    """Tells all ranks. Raises HocketError when the file cannot be written."""
    path = _window_path(folder, window.number)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, msgspec.to_builtins(window))


def published(folder: Path, number: int) -> TriggeredWindow | None:
    """The window of that number, None where rank 0 has not told of it."""
    try:
        return msgspec.json.decode(_window_path(folder, number).read_bytes(), type=TriggeredWindow)
    except (OSError, msgspec.DecodeError):
        return None


def count_published(folder: Path) -> int:
    """How many windows rank 0 has told of."""
    return sum(1 for path in (folder / "trigger").glob("*.json") if path.stem.isdecimal())
