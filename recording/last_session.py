"""How the last session of a stream begins, and whether it is over, without reading what lies between."""

from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.reading import read_bytes
from hocket.recording.segments import segment_paths
from hocket.recording.stream_lines import FIRST, Meta, decode_line

__all__ = ["last_session"]


def last_session(stream: Path) -> tuple[Meta, bool]:
    """The meta of a stream's last session, and whether that came to its end; the lines between are not read.

    Raises FormatError for what is no stream.
    """
    path = segment_paths(stream)[-1]
    data = read_bytes(path)
    begin = data.rfind(b"\n" + FIRST) + 1
    try:
        meta = decode_line(data[begin : data.find(b"\n", begin)])
    except ValueError as error:
        raise FormatError(f"{path}: not a line of the collector's stream: {error}") from error
    if not isinstance(meta, Meta):
        raise FormatError(f"{path}: expected a stream that starts with a line of kind meta")
    return meta, data.find(b'\n{"k":"end",', begin) >= 0
