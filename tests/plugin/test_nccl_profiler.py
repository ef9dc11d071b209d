"""The NCCL profiler plugin, driven through its C interface in the order in which NCCL calls it."""

import ctypes
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hocket.plugin.nccl_library import nccl_profiler_path

COLLECTIVE, POINT_TO_POINT, GROUP, GROUP_API, COLLECTIVE_API, KERNEL_CHANNEL = 2, 4, 1, 256, 512, 64
ACTIVATION_MASK = COLLECTIVE | POINT_TO_POINT
COMMUNICATOR = 0xABCDEF12345


class Collective(ctypes.Structure):
    """ncclProfiler v5's collective, as NCCL 2.28 lays it out (v4 lacks the last field)."""

    _fields_ = (
        ("sequence", ctypes.c_uint64),
        ("function", ctypes.c_char_p),
        ("send_buffer", ctypes.c_void_p),
        ("receive_buffer", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("root", ctypes.c_int),
        ("datatype", ctypes.c_char_p),
        ("channels", ctypes.c_uint8),
        ("warps", ctypes.c_uint8),
        ("algorithm", ctypes.c_char_p),
        ("protocol", ctypes.c_char_p),
        ("parent_group", ctypes.c_void_p),
    )


class PointToPoint(ctypes.Structure):
    _fields_ = (
        ("function", ctypes.c_char_p),
        ("buffer", ctypes.c_void_p),
        ("datatype", ctypes.c_char_p),
        ("count", ctypes.c_size_t),
        ("peer", ctypes.c_int),
        ("channels", ctypes.c_uint8),
        ("parent_group", ctypes.c_void_p),
    )


class Payload(ctypes.Union):
    _fields_ = (("collective", Collective), ("p2p", PointToPoint))


class Descriptor4(ctypes.Structure):
    _fields_ = (("type", ctypes.c_uint8), ("parent", ctypes.c_void_p), ("rank", ctypes.c_int), ("payload", Payload))


class Descriptor5(ctypes.Structure):
    _fields_ = (("type", ctypes.c_uint64), ("parent", ctypes.c_void_p), ("rank", ctypes.c_int), ("payload", Payload))


pointer = ctypes.POINTER(ctypes.c_void_p)
mask_pointer = ctypes.POINTER(ctypes.c_int)
INIT = {
    4: ctypes.CFUNCTYPE(
        ctypes.c_int, pointer, mask_pointer, ctypes.c_char_p, ctypes.c_uint64, *[ctypes.c_int] * 3, ctypes.c_void_p
    ),
    5: ctypes.CFUNCTYPE(
        ctypes.c_int, pointer, ctypes.c_uint64, mask_pointer, ctypes.c_char_p, *[ctypes.c_int] * 3, ctypes.c_void_p
    ),
}
START = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, pointer, ctypes.c_void_p)
HANDLE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
STATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


class Plugin:
    """One version's table of functions, and the calls NCCL makes through it for one communicator."""

    def __init__(self, version: int) -> None:
        class Table(ctypes.Structure):
            _fields_ = (
                ("name", ctypes.c_char_p),
                ("init", INIT[version]),
                ("start", START),
                ("stop", HANDLE),
                ("state", STATE),
                ("finalize", HANDLE),
            )

        self.version = version
        self.descriptor = Descriptor4 if version == 4 else Descriptor5
        self.table = Table.in_dll(ctypes.CDLL(str(nccl_profiler_path())), f"ncclProfiler_v{version}")
        self.context = ctypes.c_void_p()

    def init(self, rank: int, name: bytes = b"dp0") -> tuple[int, int]:
        """(result, activation mask)"""
        mask = ctypes.c_int(-1)
        if self.version == 4:
            result = self.table.init(
                ctypes.byref(self.context), ctypes.byref(mask), name, COMMUNICATOR, 2, 16, rank, None
            )
        else:
            result = self.table.init(
                ctypes.byref(self.context), COMMUNICATOR, ctypes.byref(mask), name, 2, 16, rank, None
            )
        return result, mask.value

    def start(self, type_: int, parent: int | None = None, **payload: object) -> int | None:
        descriptor = self.descriptor(type=type_, parent=parent, rank=3, payload=Payload(**payload))
        event = ctypes.c_void_p(1)
        assert self.table.start(self.context, ctypes.byref(event), ctypes.byref(descriptor)) == 0
        return event.value


def all_reduce(sequence: int, count: int = 1024, datatype: bytes = b"ncclFloat32") -> Collective:
    return Collective(
        sequence=sequence,
        function=b"AllReduce",
        count=count,
        root=0,
        datatype=datatype,
        channels=2,
        warps=17,
        algorithm=b"RING",
        protocol=b"SIMPLE",
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOCKET_NCCL_PROFILE", str(tmp_path / "deep" / "profile"))
    return tmp_path / "deep" / "profile"


def lines(folder: Path) -> list[dict[str, object]]:
    (path,) = folder.iterdir()
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_descriptors_have_the_sizes_measured_from_nccl() -> None:
    # NCCL 2.28's own v5 header gives 112 bytes, the payload at 24.
    assert ctypes.sizeof(Descriptor5) == 112
    assert Descriptor5.payload.offset == Descriptor4.payload.offset == 24


@pytest.mark.parametrize("version", [4, 5])
def test_records_what_nccl_reports(version: int, folder: Path) -> None:
    plugin = Plugin(version)
    assert plugin.table.name == b"hocket"
    assert plugin.init(rank=3, name=b'data "parallel"\n') == (0, ACTIVATION_MASK)

    # NCCL starts parents that were not asked for; a null handle would suppress their children.
    group = plugin.start(GROUP)
    assert group
    event = plugin.start(COLLECTIVE, parent=group, collective=all_reduce(sequence=7))
    send = PointToPoint(function=b"Send", datatype=b"ncclBfloat16", count=96, peer=11, channels=4)
    message = plugin.start(POINT_TO_POINT, parent=group, p2p=send)
    kernel = plugin.start(KERNEL_CHANNEL, parent=event)
    for handle in (event, message, kernel, group):
        assert plugin.table.stop(handle) == 0
    # States may follow the stop of their event.
    assert plugin.table.state(event, 22, None) == 0
    assert plugin.table.finalize(plugin.context) == 0

    (path,) = folder.iterdir()
    assert path.name == f"rank3.0x00000abcdef12345.{os.getpid()}.jsonl"
    communicator, collective, p2p = lines(folder)
    assert communicator.pop("time_ns") > 0
    assert communicator == {
        "event": "communicator",
        "communicator": "0x00000abcdef12345",
        "name": 'data "parallel" ',
        "rank": 3,
        "ranks": 16,
        "nodes": 2,
    }
    assert 0 < collective.pop("start_ns") <= collective.pop("stop_ns")
    assert collective == {
        "event": "collective",
        "sequence": 7,
        "function": "AllReduce",
        "count": 1024,
        "datatype": "ncclFloat32",
        "bytes": 1024 * 4,
        "root": 0,
        "algorithm": "RING",
        "protocol": "SIMPLE",
        "channels": 2,
    }
    assert 0 < p2p.pop("start_ns") <= p2p.pop("stop_ns")
    assert p2p == {
        "event": "p2p",
        "function": "Send",
        "count": 96,
        "datatype": "ncclBfloat16",
        "bytes": 96 * 2,
        "peer": 11,
        "channels": 4,
    }


@pytest.mark.parametrize(
    ("datatype", "element"),
    [("Uint8", 1), ("Float8e4m3", 1), ("Float8e5m2", 1), ("Float16", 2), ("Int32", 4), ("Float64", 8), ("Text", None)],
)
def test_bytes_follow_the_datatype(datatype: str, element: int | None, folder: Path) -> None:
    plugin = Plugin(5)
    plugin.init(rank=0)
    plugin.table.stop(plugin.start(COLLECTIVE, collective=all_reduce(0, 10, f"nccl{datatype}".encode())))
    plugin.table.finalize(plugin.context)
    assert lines(folder)[1]["bytes"] == (None if element is None else 10 * element)


def test_a_stop_after_finalize_is_recorded(folder: Path) -> None:
    plugin = Plugin(5)
    plugin.init(rank=0)
    event = plugin.start(COLLECTIVE, collective=all_reduce(5))
    plugin.table.finalize(plugin.context)
    plugin.table.stop(event)
    assert lines(folder)[1]["sequence"] == 5


def test_lines_of_many_threads_stay_whole(folder: Path) -> None:
    plugin = Plugin(5)
    plugin.init(rank=0)
    threads, each = 8, 200

    def issue(first: int) -> None:
        for sequence in range(first, first + each):
            plugin.table.stop(plugin.start(COLLECTIVE, collective=all_reduce(sequence)))

    running = [threading.Thread(target=issue, args=(thread * each,)) for thread in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    plugin.table.finalize(plugin.context)
    assert sorted(line["sequence"] for line in lines(folder)[1:]) == list(range(threads * each))


def test_lines_survive_a_process_that_is_killed(folder: Path) -> None:
    script = (
        "import os, signal, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_nccl_profiler import *\n"
        "plugin = Plugin(5); plugin.init(rank=0)\n"
        "plugin.table.stop(plugin.start(COLLECTIVE, collective=all_reduce(9)))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == -9
    assert lines(folder)[1]["sequence"] == 9


@pytest.mark.parametrize("version", [4, 5])
def test_records_nothing_unless_asked(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOCKET_NCCL_PROFILE", raising=False)
    plugin = Plugin(version)
    assert plugin.init(rank=0) == (0, 0)
    # The mask is one for the whole process, so events may come all the same.
    assert plugin.start(COLLECTIVE, collective=all_reduce(1)) is None
    assert plugin.table.stop(None) == plugin.table.finalize(plugin.context) == 0


def test_a_folder_that_cannot_be_written_turns_the_plugin_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOCKET_NCCL_PROFILE", str(tmp_path / "file"))
    result, mask = Plugin(5).init(rank=0)
    assert result != 0
    assert mask == 0
