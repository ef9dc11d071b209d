"""One rank of a job whose collectives run by gloo's algorithms, then by a folder's on each engine; and must agree.

    torchrun ... algorithms_job.py PROGRAMS RESULTS

All values are integers that the types hold exactly, sums included: any order of addition gives the same bits.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import hocket.plugin
from hocket.bench.workloads import training

Tensor = torch.Tensor
Case = tuple[str, Callable[[bool], list[Tensor]]]
INTEGERS = (torch.uint8, torch.int8, torch.int32, torch.int64)
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
OPS = (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MAX, dist.ReduceOp.MIN)
SIZES = (1, 7, 64, 4099)
ENGINES = ("native", "p2p", "device")


def values(count: int, dtype: torch.dtype) -> Tensor:
    """1 to 3, another sequence on every rank: sums and products over four ranks stay below 128."""
    return ((torch.arange(count) * 7 + dist.get_rank() * 5) % 3 + 1).to(dtype)


def finish(work: Any, is_async: bool) -> None:
    if is_async:
        work.wait()


def reductions(count: int, dtype: torch.dtype, op: Any) -> Iterator[Case]:
    def all_reduce(is_async: bool) -> list[Tensor]:
        tensor = values(count, dtype)
        finish(dist.all_reduce(tensor, op, async_op=is_async), is_async)
        return [tensor]

    def reduce(is_async: bool) -> list[Tensor]:
        tensor = values(count, dtype)
        finish(dist.reduce(tensor, 2, op, async_op=is_async), is_async)
        return [tensor] if dist.get_rank() == 2 else []

    def reduce_scatter(is_async: bool) -> list[Tensor]:
        source, target = values(4 * count, dtype), torch.zeros(count, dtype=dtype)
        before = source.clone()
        finish(dist.reduce_scatter_tensor(target, source, op, async_op=is_async), is_async)
        return [target, source - before]

    for kernel in (all_reduce, reduce, reduce_scatter):
        yield f"{kernel.__name__} {op} {dtype} {count}", kernel


def moves(count: int, dtype: torch.dtype) -> Iterator[Case]:
    rank = dist.get_rank()

    def broadcast(is_async: bool) -> list[Tensor]:
        tensor = values(count, dtype)
        finish(dist.broadcast(tensor, 1, async_op=is_async), is_async)
        return [tensor]

    def all_gather(is_async: bool) -> list[Tensor]:
        parts = [torch.zeros(count, dtype=dtype) for _ in range(4)]
        finish(dist.all_gather(parts, values(count, dtype), async_op=is_async), is_async)
        return parts

    def all_gather_into_tensor(is_async: bool) -> list[Tensor]:
        whole = torch.zeros(4 * count, dtype=dtype)
        own = whole[rank * count : (rank + 1) * count]  # as FSDP does
        own.copy_(values(count, dtype))
        finish(dist.all_gather_into_tensor(whole, own, async_op=is_async), is_async)
        return [whole]

    def all_to_all(is_async: bool) -> list[Tensor]:
        target = torch.zeros(4 * count, dtype=dtype)
        finish(dist.all_to_all_single(target, values(4 * count, dtype), async_op=is_async), is_async)
        return [target]

    def gather(is_async: bool) -> list[Tensor]:
        parts = [torch.zeros(count, dtype=dtype) for _ in range(4)] if rank == 3 else None
        finish(dist.gather(values(count, dtype), parts, 3, async_op=is_async), is_async)
        return parts or []

    def scatter(is_async: bool) -> list[Tensor]:
        target = torch.zeros(count, dtype=dtype)
        parts = list(values(4 * count, dtype).chunk(4)) if rank == 0 else None
        finish(dist.scatter(target, parts, 0, async_op=is_async), is_async)
        return [target]

    for kernel in (broadcast, all_gather, all_gather_into_tensor, all_to_all, gather, scatter):
        yield f"{kernel.__name__} {dtype} {count}", kernel


def odd_ones(pair: dist.ProcessGroup, twin: dist.ProcessGroup) -> Iterator[Case]:
    def transposed(is_async: bool) -> list[Tensor]:
        tensor = values(35, torch.float32).view(5, 7).t()
        finish(dist.all_reduce(tensor, async_op=is_async), is_async)
        return [tensor]

    def empty(is_async: bool) -> list[Tensor]:
        tensor = torch.zeros(0)
        finish(dist.all_reduce(tensor, async_op=is_async), is_async)
        return [tensor]

    def coalesced(is_async: bool) -> list[Tensor]:
        tensors = [values(count, torch.float32) for count in (3, 1, 20)]
        finish(dist.all_reduce_coalesced(tensors, async_op=is_async), is_async)
        return tensors

    def functional_coalesced(is_async: bool) -> list[Tensor]:
        shards = [values(count, torch.float32) for count in (3, 8)]
        wholes = functional.all_gather_into_tensor_coalesced(shards, dist.group.WORLD)
        sums = functional.reduce_scatter_tensor_coalesced(
            [whole * 1 for whole in wholes], "sum", [0, 0], dist.group.WORLD
        )
        return [tensor * 1 for tensor in [*wholes, *sums]]

    def two_groups_at_once(is_async: bool) -> list[Tensor]:
        tensors = [values(1000 + number, torch.float32) for number in range(8)]
        works = []
        for number, tensor in enumerate(tensors):
            group = (dist.group.WORLD, pair, twin)[number % 3]
            works.append(dist.all_reduce(tensor, group=group, async_op=True))
        for work in reversed(works):
            work.wait()
        return tensors

    def objects(is_async: bool) -> list[Tensor]:
        found: list[Any] = [None] * 4
        dist.all_gather_object(found, {"rank": dist.get_rank()})
        return [torch.tensor([part["rank"] for part in found])]

    def no_gradient(is_async: bool) -> list[Tensor]:
        with torch.inference_mode():
            tensor = values(9, torch.float32)
            finish(dist.all_reduce(tensor, async_op=is_async), is_async)
            return [tensor.clone()]

    for kernel in (transposed, empty, coalesced, functional_coalesced, two_groups_at_once, objects, no_gradient):
        yield kernel.__name__, kernel


def cases(pair: dist.ProcessGroup, twin: dist.ProcessGroup) -> Iterator[Case]:
    for dtype in (*INTEGERS, *FLOATS):
        for op in OPS:
            for count in SIZES if op is dist.ReduceOp.SUM else SIZES[1:2]:
                yield from reductions(count, dtype, op)
    for dtype in (torch.bool, torch.uint8, torch.int64, torch.bfloat16):
        for count in SIZES:
            yield from moves(count, dtype)
    yield from odd_ones(pair, twin)


def results(pair: dist.ProcessGroup, twin: dist.ProcessGroup) -> dict[str, list[Tensor] | str]:
    found: dict[str, list[Tensor] | str] = {}
    for name, kernel in cases(pair, twin):
        for is_async in (False, True):
            key = f"{name} {'async' if is_async else 'sync'}"
            try:
                found[key] = kernel(is_async)
            except (RuntimeError, ValueError) as error:
                found[key] = str(error)
    return found


def fsdp2_with_replicas() -> training.Step:
    model = training.mlp()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    fully_shard(model, mesh=mesh)
    return training.train(model)


def trained(build: Callable[[], training.Step]) -> list[Tensor]:
    """Parameters after three steps."""
    torch.manual_seed(1)
    models: list[nn.Module] = []
    train = training.train

    def remember(model: nn.Module) -> training.Step:
        models.append(model)
        return train(model)

    training.train = remember
    step = build()
    training.train = train
    for _ in range(3):
        step()
    parameters = [getattr(parameter, "full_tensor", parameter.detach)() for parameter in models[0].parameters()]
    return [parameter.detach().clone() for parameter in parameters]


WORKLOADS = (training.ddp, training.fsdp2, fsdp2_with_replicas, training.tensor_parallel)


class Run(NamedTuple):
    """What a job computed."""

    results: dict[str, list[Tensor] | str]
    trained: dict[str, list[Tensor]]


def run(name: str, store: dist.Store) -> Run:
    """A job's collectives; its world, which is named because a store remembers those before, is left open."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", store=dist.PrefixStore(name, store), rank=rank, world_size=size)
    pairs = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    twin = dist.new_group([0, 1, 2, 3])
    return Run(results(pairs[dist.get_rank() % 2], twin), {build.__name__: trained(build) for build in WORKLOADS})


def compare(stock: Run, ours: Run) -> dict[str, Any]:
    wrong = []
    for name, expected in stock.results.items():
        got = ours.results[name]
        if isinstance(expected, str) or isinstance(got, str) or not all(map(torch.equal, expected, got)):
            wrong.append(f"{name}: {expected} became {got}")
    far = {}
    for name, parameters in stock.trained.items():
        pairs = zip(parameters, ours.trained[name], strict=True)
        far[name] = max((left - right).abs().max().item() for left, right in pairs)
    average = values(11, torch.float32)
    total = average.clone()
    dist.all_reduce(average, dist.ReduceOp.AVG)
    dist.all_reduce(total)
    late = dist.all_reduce(torch.ones(4), async_op=True)
    late.wait()
    return {
        "cases": len(stock.results),
        "wrong": wrong,
        "far": far,
        "average": torch.equal(average, total / 4),
        "completed": late.is_completed(),
        "future": [tensor.tolist() for tensor in late.get_future().value()],
    }


def main(programs: str, folder: Path) -> None:
    store, rank, _ = next(dist.rendezvous("env://"))
    stock = run("stock", store)
    dist.destroy_process_group()
    hocket.plugin.use(programs)
    facts = {}
    for engine in ENGINES:
        os.environ["HOCKET_ALGORITHMS_ENGINE"] = engine
        facts[engine] = compare(stock, run(engine, store))
        dist.destroy_process_group()
    (folder / f"facts.{rank}.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
