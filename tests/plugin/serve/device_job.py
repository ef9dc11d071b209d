"""Two ranks on a device of streams whose collectives run programs: started by test_device.py.

torchrun ... device_job.py PROGRAMS
"""

import gc
import sys
from collections.abc import Callable

import late_device
import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import all_reduce

import hocket
import hocket.plugin

DEVICE = late_device.load()


def full(value: float, count: int = 4) -> torch.Tensor:
    return torch.full((count,), float(value)).to(DEVICE)


def held(work: Callable[[], torch.Tensor]) -> list[float]:
    """The values that come of work that is issued while no message moves."""
    late_device.hold()
    tensor = work()
    late_device.release()
    return list(tensor.tolist())


def streams_wait_and_the_host_does_not(rank: int) -> None:
    def synchronous() -> torch.Tensor:
        tensor = full(rank + 1)
        dist.all_reduce(tensor)
        return tensor * 2

    def asynchronous() -> torch.Tensor:
        tensor = full(rank + 1)
        work = dist.all_reduce(tensor, async_op=True)
        beside = torch.ones(4, device=DEVICE)
        work.wait()
        assert not torch.late.current_stream().query()
        return tensor + beside

    def by_future() -> torch.Tensor:
        work = dist.all_reduce(full(rank + 1), async_op=True)
        return work.get_future().then(lambda future: future.value()[0] * 3).wait()

    assert held(synchronous) == [6.0] * 4
    assert held(asynchronous) == [4.0] * 4
    assert held(by_future) == [9.0] * 4
    assert held(lambda: all_reduce(full(rank + 1), "sum", dist.group.WORLD) + 1) == [4.0] * 4


def memory_is_kept(rank: int) -> None:
    """A tensor that its issuer frees at once; it may be another's only when the program is done with it."""
    dist.all_reduce(full(0))
    torch.late.synchronize()  # its messages would be held, too, and the host after them
    gc.collect()  # of what was waited for by its future alone
    before = late_device.records()
    late_device.hold()
    result = full(0, 2)
    source = full(rank + 1)
    work = dist.reduce_scatter_tensor(result, source, async_op=True)
    del source
    torch.late.default_stream().synchronize()  # where the memory would be overwritten
    late_device.release()
    work.wait()
    assert result.tolist() == [3.0] * 2
    assert late_device.records() == before
    late_device.hold()
    kept = full(0, 2)
    dist.reduce_scatter_tensor(kept, full(rank + 1), async_op=True)  # nobody will wait
    dist.all_reduce(full(0), async_op=True)  # until now the last Work was held
    gc.collect()
    torch.late.default_stream().synchronize()
    late_device.release()
    torch.late.synchronize()
    assert kept.tolist() == [3.0] * 2
    assert late_device.records() > before


def graphs_have_the_backend_s_own(rank: int) -> None:
    graph, tensor = torch.late.CUDAGraph(), full(1)
    with torch.late.graph(graph):
        dist.all_reduce(tensor)
    tensor.copy_(full(rank + 1))
    graph.replay()
    assert tensor.tolist() == [3.0] * 4


def groups_are_opened_before_a_capture(twin: dist.ProcessGroup) -> None:
    """Its ranks would have to tell each other something, which a capture does not do."""
    graph, tensor = torch.late.CUDAGraph(), full(1)
    with torch.late.graph(graph):
        dist.all_reduce(tensor, group=twin)
    graph.replay()
    assert tensor.tolist() == [2.0] * 4


def communicators_run_on_the_caller_s_stream(rank: int) -> None:
    made = hocket.communicator(bundle=sys.argv[1], engine="p2p", device=DEVICE)
    table = made.tune(["all_reduce"], [16, 4096], dtype=torch.float32, repetitions=3)
    assert [sorted(row.times_ns) for row in table.rows] == [[-1, 0]] * 2
    assert made.all_reduce(full(rank + 1)).tolist() == [3.0] * 4
    side, tensor = torch.late.Stream(), full(0, 1000)
    late_device.hold()
    with torch.late.stream(side):
        tensor.add_(rank + 1)
        made.all_reduce(tensor)
    assert not side.query()
    late_device.release()
    side.synchronize()
    assert tensor.tolist() == [3.0] * 1000
    graph, tensor = torch.late.CUDAGraph(), full(rank)
    with torch.late.graph(graph):
        made.all_reduce(tensor)
    graph.replay()
    assert tensor.tolist() == [1.0] * 4
    reasons = {one["reason"] for one in made.counts.to_json()["stock"]}
    assert reasons & {"a graph is captured", "the stock library was the quickest when it was tuned"}, reasons


def programs_are_named() -> None:
    names = set(late_device.descriptions())
    assert names == {"default_pg by made/all_reduce_2.json", "default_pg by made/reduce_scatter_2.json"}, names
    assert dist.group.WORLD.group_desc == "default_pg"


def main() -> None:
    dist.init_process_group("late")
    hocket.plugin.use(sys.argv[1])
    rank = dist.get_rank()
    twin = dist.new_group(backend="late")
    dist.all_reduce(full(0))  # the ranks tell each other what they have; the host waits for that
    streams_wait_and_the_host_does_not(rank)
    memory_is_kept(rank)
    graphs_have_the_backend_s_own(rank)
    programs_are_named()
    groups_are_opened_before_a_capture(twin)
    communicators_run_on_the_caller_s_stream(rank)
    dist.destroy_process_group()


main()
