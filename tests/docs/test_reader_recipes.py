"""CONTRIBUTING.md's recipes of what is read: followed word for word in a copy of the house."""

from pathlib import Path

from house_copies import HouseCopy

from hocket.chakra import read_traces

IMPORTER = '''"""Lines of an in-house profiler: `call RANK KIND BYTES BEGIN_US END_US`."""

from collections.abc import Sequence
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.reading import read_text
from hocket.chakra.importers.lanes import build_lanes
from hocket.chakra.importers.rank import IssuedCall, LaneWait, Notes, RankTrace

__all__ = ["is_lines", "read_lines"]


def is_lines(head: bytes) -> bool:
    return head.startswith(b"call ")


def read_lines(paths: Sequence[Path], notes: Notes) -> list[RankTrace]:
    calls: dict[int, list[IssuedCall]] = {}
    for path in paths:
        for number, line in enumerate(read_text(path).splitlines(), 1):
            word, *texts = line.split()
            if word != "call" or len(texts) != 5:
                raise FormatError(f"{path}:{number}: expected call RANK KIND BYTES BEGIN_US END_US")
            rank, num_bytes, begin, end = (int(texts[at]) for at in (0, 2, 3, 4))
            wait = LaneWait(0, 1000 * begin, 1000 * end)
            call = IssuedCall(texts[1], "world", num_bytes, 1000 * begin, 1000 * end, wait=wait)
            calls.setdefault(rank, []).append(call)
    notes["waits: every call is taken for one that its rank waits for"] += 1
    groups = {"world": tuple(sorted(calls))}
    return [
        RankTrace(rank, len(calls), build_lanes(rank, own, "compute", {"generator": "lines"}), groups)
        for rank, own in calls.items()
    ]
'''
LINES_ENTRY = """        Importer(
            name="lines",
            summary="an in-house profiler's lines",
            matches=is_lines,
            read=read_lines,
            files="`call RANK KIND BYTES BEGIN_US END_US`",
            times="as written",
            groups="one of all ranks",
            waits="every call",
        ),
"""
READER = '''"""`latency table`: a line `RANKS BYTES MICROSECONDS` of an in-house all_reduce benchmark."""

from hocket.calibration.measurement import Measurement

__all__ = ["is_latency_table", "read_latency_table"]


def is_latency_table(text: str) -> bool:
    return text.startswith("latency table\\n")


def read_latency_table(text: str, source: str) -> tuple[Measurement, ...]:
    rows = [(number, [int(each) for each in line.split()]) for number, line in enumerate(text.splitlines()[1:], 2)]
    return tuple(
        Measurement("all_reduce", ranks, 1, size, time_us * 10**6, True, f"{source}:{number}")
        for number, (ranks, size, time_us) in rows
    )
'''
READER_ENTRY = """        MeasurementReader(
            name="latency-table",
            summary="latency tables",
            taken="`RANKS BYTES MICROSECONDS` of all_reduce",
            matches=is_latency_table,
            read=lambda text, source, *_: read_latency_table(text, source),
        ),
"""


def test_a_format_that_can_be_imported_is_a_file_and_an_entry(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path / "house", changed=["chakra"])
    house.write("chakra/importers/lines.py", IMPORTER)
    registry = "chakra/importers/registry.py"
    house.replace(
        registry,
        '(\n        Importer(\n            name="mlcommons"',
        f'(\n{LINES_ENTRY}        Importer(\n            name="mlcommons"',
    )
    house.replace(
        registry,
        "from hocket.chakra.importers.mlcommons",
        "from hocket.chakra.importers.lines import is_lines, read_lines\nfrom hocket.chakra.importers.mlcommons",
    )
    recorded, traces = tmp_path / "job.txt", tmp_path / "traces"
    recorded.write_text("".join(f"call {rank} all_reduce 1048576 {10 + rank} 250\n" for rank in range(4)))
    done = house.hocket("trace", "import", str(recorded), "-o", str(traces))
    assert (done.returncode, "waits: every call" in done.stdout + done.stderr) == (0, True), done.stdout + done.stderr
    found = read_traces(traces)
    assert [trace.comm_bytes[trace.comm_bytes >= 0].tolist() for trace in found.traces] == [[1 << 20]] * 4
    assert house.hocket("trace", "validate", str(traces)).returncode == 0
    assert "lines" in house.hocket("trace", "import", "--help").stdout
    recorded.write_text("call 0 all_reduce 1 2\n")
    done = house.hocket("trace", "import", str(recorded), "-o", str(traces))
    assert (done.returncode, "job.txt:1: expected call RANK" in done.stderr) == (3, True), done.stderr
    assert "`lines`" in house.table("importers")


def test_a_format_of_measurements_is_a_file_and_an_entry(tmp_path: Path) -> None:
    house = HouseCopy(tmp_path / "house", changed=["calibration"])
    house.write("calibration/readers/latency_table.py", READER)
    house.replace(
        "calibration/reading.py",
        '(\n        MeasurementReader(\n            name="csv"',
        f'(\n{READER_ENTRY}        MeasurementReader(\n            name="csv"',
    )
    house.replace(
        "calibration/reading.py",
        "from hocket.calibration.readers.nccl_tests import",
        "from hocket.calibration.readers.latency_table import is_latency_table, read_latency_table\n"
        "from hocket.calibration.readers.nccl_tests import",
    )
    measured = tmp_path / "measured.txt"
    # 10 us and 20 us/MiB on 4 ranks
    measured.write_text("latency table\n" + "".join(f"4 {n << 20} {10 + 20 * n}\n" for n in (1, 2, 4, 8, 16, 32, 64)))
    done = house.hocket("calibrate", str(measured))
    assert (done.returncode, "all_reduce" in done.stdout) == (0, True), done.stdout + done.stderr
    (tmp_path / "nothing.txt").write_text("nothing\n")
    done = house.hocket("calibrate", str(tmp_path / "nothing.txt"))
    assert (done.returncode, "known: latency tables, CSV" in done.stderr) == (3, True), done.stderr
    assert "latency tables" in house.table("measurements")
