"""Kineto's timelines by hand; of NCCL after real ones of PyTorch 2.3 on two GPUs (events, their categories and
arguments are those; times and sizes are made up)."""

import json
from typing import Any


def span(category: str, name: str, begin: float, duration: float, thread: int = 1, **args: Any) -> dict[str, Any]:
    """An event of Kineto's timeline; underscores in `args` stand for spaces."""
    told = {key.replace("_", " "): value for key, value in args.items()}
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 7,
        "tid": thread,
        "ts": begin,
        "dur": duration,
        "args": told,
    }


def kineto(events: list[dict[str, Any]], rank: int, world: int, groups: dict[str, list[int]]) -> str:
    told = [
        {"pg_name": name, "pg_desc": "", "backend_config": "cuda:nccl", "pg_size": len(ranks), "ranks": ranks}
        for name, ranks in groups.items()
    ]
    info = {"backend": "nccl", "rank": rank, "world_size": world, "pg_count": len(groups), "pg_config": told}
    return json.dumps(
        {
            "schemaVersion": 1,
            "distributedInfo": info,
            "baseTimeNanoseconds": 10**18,
            "traceEvents": events,
            "traceName": "",
        }
    )


def launched(name: str, begin: float, launch: float, duration: float, stream: int, number: int) -> list[dict[str, Any]]:
    """A kernel and its launch, by the operator of External id `number`."""
    ids = {"External_id": number, "correlation": number}
    return [
        span("cuda_runtime", "cudaLaunchKernel", launch, 1, **ids),
        span("kernel", name, begin, duration, 100 + stream, stream=stream, device=0, **ids),
    ]


def recorded(collective: str, begin: float, number: int, elements: int, **more: Any) -> list[dict[str, Any]]:
    told = {"Collective_name": collective, "dtype": "Float", "In_msg_nelems": elements, "Out_msg_nelems": elements}
    told |= {"Group_size": 2, "Process_Group_Name": "0", "Process_Group_Ranks": "[0, 1]", "In_split_size": "[]"}
    return [span("cpu_op", "record_param_comms", begin, 8, External_id=number, **(told | more))]


def of_nccl(rank: int) -> list[dict[str, Any]]:
    """A matrix product on stream 7, its all_reduce on stream 40 beside another product, a message, and an addition that
    waits for the all_reduce. The device is idle from 180 to 200."""
    shapes = {"Input_Dims": [[4, 8], [8, 2]], "Input_type": ["float", "float"], "Concrete_Inputs": ["", ""]}
    pg = {"Input_Dims": [[[1000]], [], []], "Input_type": ["TensorList", "", ""]}
    peer = {"Input_Dims": [[[16]], [], [], []], "Input_type": ["TensorList", "", "Scalar", "Scalar"]}
    message, called = ("send", "c10d::send") if rank == 0 else ("recv", "c10d::recv_")
    return [
        span("user_annotation", "ProfilerStep#3", 0, 300, External_id=1),
        span("cpu_op", "aten::mm", 10, 5, External_id=2, **shapes),
        *launched("sgemm", 20, 12, 30, 7, 2),
        span("cpu_op", "c10d::allreduce_", 20, 10, External_id=3, **pg),
        *recorded("allreduce", 21, 4, 1000),
        span("cuda_runtime", "cudaStreamWaitEvent", 22, 1, correlation=1004),
        *launched("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50, 25, 100, 40, 4),
        span("cpu_op", "aten::mm", 35, 5, External_id=5, **shapes),
        *launched("sgemm", 55, 36, 40, 7, 5),
        span("cpu_op", called, 45, 10, External_id=6, Concrete_Inputs=["", "", str(1 - rank), "0"], **peer),
        *recorded(message, 46, 7, 16),
        *launched("ncclDevKernel_SendRecv", 150, 49, 30, 41, 7),
        span("cuda_runtime", "cudaStreamWaitEvent", 60, 1, correlation=1008),
        span("cpu_op", "aten::add", 190, 5, External_id=9),
        *launched("add", 200, 192, 10, 7, 9),
        span("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 210, 5, 107, stream=7, bytes=64, correlation=10),
    ]
