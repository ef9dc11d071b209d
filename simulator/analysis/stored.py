"""Predictions that were written as JSON, read back."""

from pathlib import Path

import msgspec

from hocket.base.errors import FormatError
from hocket.base.reading import JSON, read_text
from hocket.simulator.analysis.json_form import FORMAT, VERSION

__all__ = ["StoredPrediction", "read_prediction"]


class StoredTopology(msgspec.Struct):
    name: str
    ranks: int
    fingerprint: str


class StoredRanks(msgspec.Struct):
    finish_ps: list[int]
    exposed_ps: list[int]
    exposed_wait_ps: list[int]
    waited_ps: list[int]


class StoredGroups(msgspec.Struct):
    group: list[str]
    kind: list[str]
    ranks: list[int]
    total_time_ps: list[int]


class StoredCollective(msgspec.Struct):
    kind: str
    start_ps: int
    ready_ps: int
    finish_ps: int


class StoredLinks(msgspec.Struct):
    src: list[int]
    dst: list[int]
    busy_ps: list[int]
    class_name: list[str] = msgspec.field(name="class")


class StoredPrediction(msgspec.Struct):
    """What a comparison needs of the JSON form (docs/results.md)."""

    model: str
    topology: StoredTopology
    time_ps: int
    bound_ps: int
    ranks: StoredRanks
    groups: StoredGroups
    collectives: list[StoredCollective]
    links: StoredLinks
    routing: str | None = None
    assumed: list[str] = []
    notes: list[str] = []


class _Header(msgspec.Struct):
    format: str = ""
    version: int = 0


def read_prediction(path: Path | str) -> StoredPrediction:
    """The prediction in a JSON file; of a folder of tables, its `prediction.json`.

    Raises FormatError, naming the file, when it is something else or of another version.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "prediction.json"
    text = read_text(path, JSON)
    try:
        header = msgspec.json.decode(text, type=_Header)
        if header.format != FORMAT:
            raise FormatError(f"{path}: not a prediction; expected what 'hocket simulate --json' or --tables writes")
        if header.version != VERSION:
            raise FormatError(
                f"{path}: version {header.version} of the format, this Hocket reads version {VERSION}: simulate again"
            )
        return msgspec.json.decode(text, type=StoredPrediction)
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        raise FormatError(f"{path}: not a prediction: {error}") from error
