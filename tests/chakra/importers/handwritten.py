"""Hand-written pieces of what other tools record."""

import json
import pickle
import struct
from pathlib import Path
from typing import Any


def entry(record: int, name: str, sizes: list[list[int]], **more: Any) -> dict[str, Any]:
    return {
        "record_id": record,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": record,
        "p2p_seq_id": 0,
        "op_id": record,
        "profiling_name": name,
        "time_created_ns": 1_700_000_000_000_000_000 + record * 50_000,
        "duration_ms": 0.25,
        "input_sizes": sizes,
        "input_dtypes": ["Float"] * len(sizes),
        "output_sizes": sizes,
        "output_dtypes": ["Float"] * len(sizes),
        "state": "completed",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": True,
        "timeout_ms": 600000,
        "is_p2p": False,
    } | more


def dump(path: Path, entries: list[dict[str, Any]], groups: dict[str, str]) -> Path:
    config = {name: {"name": name, "desc": "", "ranks": ranks} for name, ranks in groups.items()}
    path.write_bytes(pickle.dumps({"version": "2.10", "pg_config": config, "entries": entries}, protocol=2))
    return path


def record(rank: int, name: str, members: int, process: int, **done: Any) -> str:
    return json.dumps(
        {
            "header": {"id": name, "rank": rank, "n_ranks": members, "nnodes": 1},
            "metadata": {
                "inspector_output_format_version": "v4.0",
                "git_rev": "",
                "rec_mechanism": "nccl_profiler_interface",
                "dump_timestamp_us": 1749490229087081,
                "hostname": "node",
                "pid": 100 + process,
            },
        }
        | done
    )


def collective(kind: str, number: int, size: int) -> dict[str, Any]:
    times = {"coll_exec_time_us": 110, "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 1.0}
    return {"coll_perf": {"coll": kind, "coll_sn": number, "coll_msg_size_bytes": size} | times}


def message(kind: str, peer: int, size: int) -> dict[str, Any]:
    return {"p2p_perf": {"p2p": kind, "p2p_sn": 1, "p2p_peer": peer, "p2p_msg_size_bytes": size, "p2p_exec_time_us": 5}}


def attribute(name: str, value: Any) -> dict[str, Any]:
    return {"name": name, "type": type(value).__name__, "value": value}


def host_node(number: int, name: str, inputs: list[Any], outputs: list[Any] = [], **attributes: Any) -> dict[str, Any]:  # noqa: B006  # read only
    """A node of an execution trace; its record function id is its number."""
    told = {"rf_id": number, "tid": 1} | attributes
    return {
        "id": number,
        "name": name,
        "ctrl_deps": 1,
        "inputs": {"values": inputs, "shapes": [], "types": []},
        "outputs": {"values": outputs, "shapes": [], "types": []},
        "attrs": [attribute(key, value) for key, value in told.items()],
    }


def host_trace(nodes: list[dict[str, Any]], schema: str = "1.1.1-chakra.0.0.4") -> str:
    return json.dumps({"schema": schema, "pid": 7, "time": "", "start_ts": 0, "nodes": nodes, "finish_ts": 1})


def nccl_profile(calls: list[tuple[str, int]], rank: int = 0) -> bytes:
    """A file of the profiler plugin for NCCL: one communicator of two ranks, and calls of so many floats that ran for
    50 us of the GPU's. The layout is that of plugin/nccl/profiler/record.hpp."""

    def text(value: str) -> bytes:
        return value.encode().ljust(16, b"\0")

    def slot(kind: int, peer: int, times: tuple[int, ...], sequence: int, function: str, count: int, one: int) -> bytes:
        children = (1, 1) if times[2] else (0, 0)
        head = struct.pack("<IiQ3q2Q2I3Q2I", 0, peer, 0, *times, *children, sequence, 0, 0, 0, 0)
        names = text(function) + text("ncclFloat32" if times[2] else "") + text("RING") + text("LL")
        return head + names + struct.pack("<QII", count, one, kind) + text("")

    header = b"HOCKNCCL" + struct.pack("<IIQQqqIIiI", 1, 192, 400, 70, 10**18, 10**9, 77, 64, 0, rank + 1)
    slots = [slot(1 << 16, rank, (10**9, 0, 0, 0, 0), 0xABC, "", 2, 1).replace(text("RING") + text("LL"), bytes(32))]
    for number, (function, count) in enumerate(calls):
        begin = 2 * 10**9 + number * 10**6
        times = begin, begin + 1000, begin + 60_000, 5000 + number * 10**6, 55_000 + number * 10**6
        slots.append(slot(4 if function in ("Send", "Recv") else 2, 1 - rank, times, 0, function, count, 2))
    return header.ljust(400, b"\0") + b"".join(slots)
