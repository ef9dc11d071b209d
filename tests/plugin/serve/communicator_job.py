"""Jobs of forked ranks that call programs by name: communicator_job.py FOLDER, which holds `made`, `ring` and `both`.

What each rank saw is in FOLDER/facts.RANK.json, what the others did in FOLDER/others.json.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from forked_ranks import run_ranks

import hocket
import hocket.plugin
from hocket.base.errors import HocketError
from hocket.plugin.serve.communicator import GroupCommunicator
from hocket.plugin.serve.failure_watch import FailureWatch

RANKS = 4
SIZES = (8 << 10, 64 << 10)


def values(rank: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Whole numbers that the types hold exactly, sums of four included."""
    return ((torch.arange(count) * 7 + rank * 5) % 3 + 1).to(dtype)


def every_collective(made: GroupCommunicator, rank: int) -> list[str]:
    """The calls whose results are not the stock library's."""
    wrong = []

    def check(what: str, got: torch.Tensor, expected: torch.Tensor) -> None:
        if not torch.equal(got, expected):
            wrong.append(what)

    for count in (4, 1001, 40_000):
        for dtype in (torch.float32, torch.bfloat16, torch.int32):
            name, own, whole = f"{count} {dtype}", values(rank, count, dtype), values(rank, 4 * count, dtype)
            total = own.clone()
            dist.all_reduce(total)
            check(f"all_reduce {name}", made.all_reduce(own.clone()), total)
            check(f"all_reduce into out {name}", made.all_reduce(own, out=torch.empty_like(own)), total)
            largest = own.clone()
            dist.all_reduce(largest, dist.ReduceOp.MAX)
            check(f"max {name}", made.all_reduce(own.clone(), dist.ReduceOp.MAX), largest)
            parts = torch.empty_like(whole)
            dist.all_gather_into_tensor(parts, own)
            check(f"all_gather {name}", made.all_gather(torch.empty_like(whole), own), parts)
            share = torch.empty_like(own)
            dist.reduce_scatter_tensor(share, whole)
            check(f"reduce_scatter {name}", made.reduce_scatter(torch.empty_like(own), whole), share)
            dist.all_to_all_single(parts, whole)
            check(f"all_to_all {name}", made.all_to_all(torch.empty_like(whole), whole), parts)
            for root in (0, 1):  # of 0 there is no program
                sent = own.clone()
                dist.broadcast(sent, root)
                check(f"broadcast from {root} {name}", made.broadcast(own.clone(), root), sent)
    mean = made.all_reduce(values(rank, 64, torch.float32), dist.ReduceOp.AVG)
    check("mean", mean, sum(values(other, 64, torch.float32) for other in range(RANKS)) / RANKS)  # type: ignore[arg-type]
    check("complex", made.all_reduce(torch.ones(4, dtype=torch.complex64)), torch.full((4,), 4 + 0j))
    return wrong


def float8s(made: GroupCommunicator, rank: int) -> dict[str, bool]:
    """Whether every element of a ring's sum is one of the ring's orders, added as floats and rounded once an addition;
    and is the same everywhere."""
    found = {}
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        inputs = [torch.randn(4096, generator=torch.Generator().manual_seed(other)).to(dtype) for other in range(RANKS)]
        got = made.all_reduce(inputs[rank].clone())
        orders = []
        for first in range(RANKS):
            total = inputs[first]
            for turn in range(1, RANKS):
                total = (inputs[(first + turn) % RANKS].float() + total.float()).to(dtype)
            orders.append(total.view(torch.uint8))
        bits = got.view(torch.uint8)
        everyones = [torch.empty_like(bits) for _ in range(RANKS)]
        dist.all_gather(everyones, bits)
        is_one = torch.stack([bits == order for order in orders]).any(0).all()
        found[str(dtype)] = bool(is_one) and all(torch.equal(bits, other) for other in everyones)
    return found


def said_by(action: Callable[[], object]) -> str:
    try:
        action()
    except (HocketError, RuntimeError) as error:
        return str(error).splitlines()[0]
    return "nothing"


def reasons(made: GroupCommunicator) -> dict[str, int]:
    """Calls of the stock library, by why."""
    found: dict[str, int] = {}
    for one in made.counts.to_json()["stock"]:
        found[one["reason"]] = found.get(one["reason"], 0) + one["calls"]
    return found


def tuning(made: GroupCommunicator, folder: Path, rank: int) -> dict[str, Any]:
    calls = made.counts.to_json()
    table = made.tune(["all_reduce", "all_gather"], SIZES, dtype=torch.float32, repetitions=3)
    assert made.counts.to_json() == calls, "what is measured is no call"
    saved = folder / "tuned" / "table.json"
    made.save(saved)
    dist.barrier()
    other = hocket.communicator(bundle=folder / "made", engine="device")
    other.load(saved)
    ring = hocket.communicator(bundle=folder / "ring", engine="device")
    here = {"rows": [(row.kind, row.size_bytes, row.choice, dict(row.times_ns)) for row in table.rows]}
    there = {"rows": [(row.kind, row.size_bytes, row.choice, dict(row.times_ns)) for row in other.table.rows]}
    count = SIZES[0] // 4
    right = all(
        torch.equal(one.all_reduce(torch.full((count,), rank + 1.0)), torch.full((count,), 10.0))
        for one in (made, other)
    )
    return {
        "table": here,
        "loaded alike": here == there,
        "described": made.describe(),
        "right": right,
        "other programs": said_by(lambda: ring.load(saved)),
        "absent at rank 2": said_by(lambda: other.load(saved if rank != 2 else folder / "absent.json")),
        "unknown": said_by(lambda: made.tune(["gather"])),
    }


def disagreements(folder: Path, rank: int) -> dict[str, dict[str, int]]:
    """Why stock runs where ranks have different programs, one has none, or one never asks."""
    found = {}
    for name, bundle in (("other programs", "ring"), ("none for so many", "pairs")):
        made = hocket.communicator(bundle=folder / (bundle if rank == 3 else "made"), engine="device")
        assert made.all_reduce(torch.ones(8)).tolist() == [4.0] * 8
        found[name] = reasons(made)
    engine = "native" if rank == 1 else "device"
    made = hocket.communicator(bundle=folder / "made", engine=engine)
    assert made.all_reduce(torch.ones(8)).tolist() == [4.0] * 8
    found["other engines"] = reasons(made)
    lacking = dist.new_group(timeout=timedelta(seconds=6))
    dist.barrier(lacking)
    tensor = torch.ones(8)
    if rank == 2:
        dist.all_reduce(tensor, group=lacking)
    else:
        made = hocket.communicator(lacking, folder / "made", engine="device")
        made.all_reduce(tensor)
        found["never asks"] = reasons(made)
    assert tensor.tolist() == [4.0] * 8
    return found


def groups_own(folder: Path, rank: int) -> list[str]:
    """Of a bundle whose first program is for the other pair, and of the second, which has another order."""
    pairs = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    made = hocket.communicator(pairs[rank % 2], folder / "both", engine="device")
    assert made.all_reduce(torch.ones(6)).tolist() == [2.0] * 6
    by_name = [one["file"] for one in made.counts.to_json()["algorithms"] if one["calls"]]
    os.environ["HOCKET_ALGORITHMS_ENGINE"] = "device"
    hocket.plugin.use(str(folder / "both"))
    tensor = torch.ones(6)
    dist.all_reduce(tensor, group=pairs[rank % 2])
    assert tensor.tolist() == [2.0] * 6
    from hocket.plugin.serve import activation

    assert activation._override is not None
    report = activation._override.counts.to_json()["algorithms"]
    return [*by_name, *(one["file"] for one in report if one["calls"])]


def deaths(folder: Path, rank: int) -> dict[str, Any]:
    """Rank 3 is killed while two wait for it; rank 1 ends after its part, which keeps nobody from theirs."""
    trio = dist.new_group([0, 2, 3])
    made = hocket.communicator(bundle=folder / "made", engine="device")
    made.broadcast(torch.ones(4), 1)
    three = None if rank == 1 else hocket.communicator(trio, folder / "made", engine="device")
    if three is not None:
        three.all_reduce(torch.ones(6))
    found: dict[str, Any] = {"process": os.getpid()}
    dist.barrier()
    sent = torch.full((4,), 7.0 if rank == 1 else 0.0)
    if rank == 2:
        time.sleep(1.5)  # rank 1 is gone by then, and ranks 3 and 0 wait for this one
    made.broadcast(sent, 1)
    found["sent"] = sent.tolist()
    if rank == 1:
        return found
    assert three is not None
    if rank == 3:
        (folder / "facts.3.json").write_text(json.dumps({**FACTS, "deaths": found}))
        time.sleep(0.7)
        os.kill(os.getpid(), signal.SIGKILL)
    for name, one in (("killed", three), ("ended", made)):
        begin = time.monotonic()
        found[name] = said_by(lambda one=one: one.all_reduce(torch.ones(6)))
        found[f"{name} after"] = time.monotonic() - begin
        found[f"{name} again"] = said_by(lambda one=one: one.all_reduce(torch.ones(6)))
    return found


FACTS: dict[str, Any] = {}


def rank_body(folder: Path) -> Callable[[int], None]:
    def body(rank: int) -> None:
        begin = time.monotonic()
        made = hocket.communicator(bundle=folder / "made", engine="device")
        FACTS["wrong"] = every_collective(made, rank)
        FACTS["reasons"] = reasons(made)
        FACTS["ran"] = sorted(one["file"] for one in made.counts.to_json()["algorithms"] if one["calls"])
        FACTS["float8"] = float8s(made, rank)
        native = hocket.communicator(bundle=folder / "made", engine="native")
        said_by(lambda: native.all_reduce(torch.ones(4).to(torch.float8_e5m2)))
        FACTS["float8, natively"] = reasons(native)
        FACTS["tuning"] = tuning(made, folder, rank)
        FACTS["disagreements"] = disagreements(folder, rank)
        FACTS["groups"] = groups_own(folder, rank)
        FACTS["deaths"] = deaths(folder, rank)
        FACTS["seconds"] = time.monotonic() - begin
        (folder / f"facts.{rank}.json").write_text(json.dumps(FACTS))

    return body


def apart_body(folder: Path) -> Callable[[int], None]:
    """Two ranks that do not see each other's processes, as on two machines."""

    def body(rank: int) -> None:
        made = hocket.communicator(bundle=folder / "pairs", engine="device")
        result = made.all_reduce(torch.full((1000,), rank + 1.0))
        counts = made.counts.to_json()
        (folder / f"apart.{rank}.json").write_text(
            json.dumps({"result": result[0].item(), "counts": counts, "described": made.describe()})
        )

    return body


def watched(told: int, handling: str) -> int:
    """How a process ends whose device tells so, in a tensor that the host can read."""
    child = os.fork()
    if child == 0:
        os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = handling
        word = torch.zeros(1, dtype=torch.int64)
        owner = object.__new__(type("Owner", (), {}))
        from hocket.plugin.serve.cuda import words_told

        FailureWatch(owner, "rank 0 of 2", lambda: words_told(word))
        time.sleep(0.3)
        word[0] = told
        time.sleep(1.5)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder: Path) -> None:
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    no_message = 1 | (1 + 1) << 8 | 3 << 24 | 2 << 40  # of rank 1, at thread block 3, step 2
    others = {
        "codes": run_ranks("all", store, RANKS, rank_body(folder)),
        "apart": run_ranks("apart", store, 2, apart_body(folder), frozenset({1})),
        "watched": [watched(no_message, "3"), watched(no_message, "0"), watched(0, "3")],
    }
    (folder / "others.json").write_text(json.dumps(others))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
