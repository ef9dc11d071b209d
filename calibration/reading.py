"""Files of measurements of any known format."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hocket.base.errors import FormatError
from hocket.base.reading import read_text
from hocket.calibration.measurement import Assumed, Measurement
from hocket.calibration.readers.csv_table import is_csv, read_csv
from hocket.calibration.readers.nccl_tests import is_nccl_tests, read_nccl_tests
from hocket.calibration.readers.nccl_tests_json import read_nccl_tests_json
from hocket.calibration.readers.osu import is_osu, read_osu
from hocket.calibration.readers.own import read_replay, read_run
from hocket.calibration.readers.perftest import is_perftest, read_perftest

__all__ = ["read_measurements"]

_KNOWN = (
    "nccl-tests or rccl-tests (its table or -J JSON), OSU micro benchmarks, perftest (ib_write_bw, ...), CSV"
    " (docs/calibrate.md), hocket run --json, hocket replay --json"
)


def read_measurements(
    paths: Iterable[Path | str], assumed: Assumed | None = None, *, partial: bool = False
) -> tuple[Measurement, ...]:
    """The measurements of all files, of any known format, told by their content.

    `assumed` says what files may leave out: the collective, ranks and nodes; `partial` takes the lines of a table that
    was cut off. Raises FormatError, naming file and line, what was expected and the remedy.
    """
    return tuple(measurement for path in paths for measurement in _read(path, assumed or Assumed(), partial))


def _read(path: Path | str, assumed: Assumed, partial: bool) -> tuple[Measurement, ...]:
    source, text = str(path), read_text(path)
    if text.lstrip()[:1] == "{":
        return _read_json(text, source, assumed)
    if is_csv(text):
        return read_csv(text, source)
    if is_perftest(text):
        return read_perftest(text, source)
    if is_osu(text):
        return read_osu(text, source, assumed)
    if is_nccl_tests(text):
        return read_nccl_tests(text, source, assumed, partial=partial)
    raise FormatError(f"{source}: no measurements that are known here (tables need their header); known: {_KNOWN}")


def _read_json(text: str, source: str, assumed: Assumed) -> tuple[Measurement, ...]:
    content: Any
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{source}: {error}: no JSON, or cut off") from error
    if content.get("format") == "hocket.replay":
        return read_replay(content, source, assumed)
    if "backend" in content and "rows" in content:
        return read_run(content, source, assumed)
    if "results" in content or "nccl_version" in content:
        return read_nccl_tests_json(content, source, assumed)
    raise FormatError(f"{source}: JSON of no known benchmark; known: {_KNOWN}")
