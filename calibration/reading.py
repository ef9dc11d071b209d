"""Files of measurements of any known format."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.base.archives import is_archive
from hocket.base.errors import FormatError
from hocket.base.reading import read_text
from hocket.base.registry import Entry, Registry
from hocket.calibration.measurement import Assumed, Measurement
from hocket.calibration.readers.csv_table import is_csv, read_csv
from hocket.calibration.readers.nccl_tests import is_nccl_tests, read_nccl_tests
from hocket.calibration.readers.nccl_tests_json import read_nccl_tests_json
from hocket.calibration.readers.osu import is_osu, read_osu
from hocket.calibration.readers.own import read_replay, read_run
from hocket.calibration.readers.perftest import is_perftest, read_perftest
from hocket.calibration.readers.selftest import read_selftest

__all__ = ["READERS", "MeasurementReader", "read_measurements"]


@dataclass(frozen=True, kw_only=True)
class MeasurementReader(Entry):
    """A format: whether a text, or the content of JSON, is of it (the first that is, is taken), and its measurements;
    what is `taken` of it, in words."""

    taken: str
    matches: Callable[[Any], bool]
    read: Callable[[Any, str, Assumed, bool], tuple[Measurement, ...]]
    is_json: bool = False


READERS = Registry(
    "format of measurements",
    (
        MeasurementReader(
            name="csv",
            summary="CSV (docs/calibrate.md)",
            taken="`collective,dtype,nranks,nnodes,size_bytes,oop_time_us,oop_algbw_GBs,oop_busbw_GBs,ip_time_us,ip_algbw_GBs,ip_busbw_GBs`;"
            " empty: not measured",
            matches=is_csv,
            read=lambda text, source, *_: read_csv(text, source),
        ),
        MeasurementReader(
            name="perftest",
            summary="perftest (ib_write_bw, ...)",
            taken="`ib_write_bw`, `ib_write_lat`, `ib_send_*`, `ib_read_*`: t_typical, BW average (MB/sec and MiB/sec"
            " are 2^20, Gb/sec 10^9 bits; half of a bidirectional test)",
            matches=is_perftest,
            read=lambda text, source, *_: read_perftest(text, source),
        ),
        MeasurementReader(
            name="osu",
            summary="OSU micro benchmarks",
            taken="latency, bandwidth and blocking collectives; needs `--ranks`, `--nodes`",
            matches=is_osu,
            read=lambda text, source, assumed, _: read_osu(text, source, assumed),
        ),
        MeasurementReader(
            name="nccl-tests",
            summary="nccl-tests or rccl-tests",
            taken="the table, of old versions (`error`, no `root`, blank `redop`) and new ones (`-I`, time stamps),"
            " with launchers' prefixes and other lines between; what NCCL logs between or within its rows (which"
            " choice it made); several runs in one file. Ranks and nodes from its `#  Rank` lines; the collective"
            " from its name, or from busbw / algbw of reductions",
            matches=is_nccl_tests,
            read=lambda text, source, assumed, partial: read_nccl_tests(text, source, assumed, partial=partial),
        ),
        MeasurementReader(
            name="hocket-replay",
            summary="hocket replay --json",
            taken="medians of operations",
            matches=lambda content: content.get("format") == "hocket.replay",
            read=lambda content, source, assumed, _: read_replay(content, source, assumed),
            is_json=True,
        ),
        MeasurementReader(
            name="hocket-run",
            summary="hocket run --json",
            taken="the program's times",
            matches=lambda content: "backend" in content and "rows" in content,
            read=lambda content, source, assumed, _: read_run(content, source, assumed),
            is_json=True,
        ),
        MeasurementReader(
            name="nccl-tests-json",
            summary="nccl-tests -J",
            taken="versions 1 to 3; its process and device list gives ranks and nodes",
            matches=lambda content: "results" in content or "nccl_version" in content,
            read=lambda content, source, assumed, _: read_nccl_tests_json(content, source, assumed),
            is_json=True,
        ),
    ),
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
    if is_archive(path):
        return read_selftest(str(path), assumed, partial=partial)
    source, text = str(path), read_text(path)
    is_json = text.lstrip()[:1] == "{"
    content = _json(text, source) if is_json else text
    for reader in READERS.values():
        if reader.is_json == is_json and reader.matches(content):
            return reader.read(content, source, assumed, partial)
    known = ", ".join([*(reader.summary for reader in READERS.values()), "hocket selftest's file"])
    what = "JSON of no known benchmark" if is_json else "no measurements that are known here (tables need their header)"
    raise FormatError(f"{source}: {what}; known: {known}")


def _json(text: str, source: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{source}: {error}: no JSON, or cut off") from error
