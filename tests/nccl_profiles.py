"""Files of NCCL's profiler plugin, made from calls."""

from pathlib import Path

import numpy as np

from hocket.chakra.importers.nccl.profile import _HEADER, COLLECTIVE, COMMUNICATOR, RECORD


def write_profile(folder: Path, rank: int, calls: list[tuple[int, str, str, int]], function: str = "AllGather") -> None:
    """One rank of a communicator of 16 on 2 nodes: (float32 elements, algorithm, protocol, ns by the GPU's timer)."""
    header = np.zeros(1, _HEADER)
    for name, value in (("magic", b"HOCKNCCL"), ("format", 1), ("record_bytes", 192), ("header_bytes", 65536)):
        header[name] = value
    records = np.zeros(len(calls) + 1, RECORD)
    opened = {"kind": COMMUNICATOR, "sequence": 0xABC, "peer": rank, "count": 16, "channels": 2}
    for name, number in opened.items():
        records[name][0] = number
    for at, (count, algorithm, protocol, time_ns) in enumerate(calls, start=1):
        call = {"kind": COLLECTIVE, "sequence": at, "function": function, "datatype": "ncclFloat32", "count": count}
        call |= {"algorithm": algorithm, "protocol": protocol, "gpu_start_ns": 5, "gpu_stop_ns": 5 + time_ns}
        call |= {"start_ns": at, "stop_ns": at, "end_ns": 10**6 + at}
        for name, value in call.items():
            records[name][at] = value
    folder.mkdir(exist_ok=True)
    (folder / f"node.{rank}.ncclprofile").write_bytes(header.tobytes().ljust(65536, b"\0") + records.tobytes())
