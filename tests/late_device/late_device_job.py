"""Two ranks on the device `late`, which find out whether it keeps a GPU's order: started by test_late_device.py."""

import late_device
import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import all_reduce

DEVICE = late_device.load()


def full(value: float, count: int = 4) -> torch.Tensor:
    return torch.full((count,), float(value)).to(DEVICE)


def collectives_are_late(rank: int) -> None:
    """The stream waits, the host does not; a future is complete when the work is enqueued."""
    tensor = full(rank + 1)
    late_device.hold()
    work = dist.all_reduce(tensor, async_op=True)
    assert work is not None
    doubled = work.get_future().then(lambda future: future.value()[0] * 2)
    work.wait()
    after = tensor + 1
    assert work.get_future().done()
    assert not work.is_completed()
    assert not torch.late.current_stream().query()
    late_device.release()
    assert after.tolist() == [4.0] * 4
    assert doubled.wait().tolist() == [6.0] * 4
    assert work.is_completed()
    assert (all_reduce(full(1), "sum", dist.group.WORLD) + 1).tolist() == [3.0] * 4


def messages_of_a_batch_are_one_group(rank: int) -> None:
    mine, other = full(rank), full(7)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, 1 - rank), dist.P2POp(dist.irecv, other, 1 - rank)])
    assert len(works) == 1
    works[0].wait()
    assert other.tolist() == [1.0 - rank] * 4


def graphs_are_captured_not_run(rank: int) -> None:
    graph, tensor = torch.late.CUDAGraph(), full(1)
    with torch.late.graph(graph):
        assert torch.late.is_current_stream_capturing()
        work = dist.all_reduce(tensor, async_op=True)
        try:
            work.is_completed()
            raise AssertionError("the host asked for an event of a capture")
        except RuntimeError as error:
            assert "capturing" in str(error)
        work.wait()
        tensor.mul_(0.5)
    assert tensor.tolist() == [1.0] * 4
    for _ in range(2):
        tensor.copy_(full(rank))
        graph.replay()
        assert tensor.tolist() == [0.5] * 4
    try:
        with torch.late.graph(graph):
            dist.all_reduce(tensor, async_op=True)
        raise AssertionError("nothing waits for the all_reduce")
    except RuntimeError as error:
        assert "unjoined" in str(error)


def freed_memory_is_another_s(group: dist.ProcessGroup) -> None:
    """What another stream still reads is lost unless it is recorded there."""
    side = torch.late.Stream()
    sums = []
    for recorded in (False, True):
        data = full(1, 1000)
        side.wait_stream(torch.late.current_stream())
        late_device.hold(group)
        with torch.late.stream(side):
            dist.all_reduce(torch.ones(1, device=DEVICE), group=group)
            sums.append(data.sum())
        if recorded:
            data.record_stream(side)
        del data
        torch.late.default_stream().synchronize()
        late_device.release(group)
        side.synchronize()
    assert sums[0].isnan().item() and sums[1].item() == 1000


def events_tell_times() -> None:
    begin, end = torch.late.Event(enable_timing=True), torch.late.Event(enable_timing=True)
    begin.record()
    full(1).add_(1)
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) > 0


def models_train(rank: int) -> None:
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2).to(DEVICE))
    model(full(rank, 20).view(5, 4)).pow(2).mean().backward()
    gradient = model.module.weight.grad
    assert gradient is not None
    both = [torch.empty_like(gradient) for _ in range(2)]
    dist.all_gather(both, gradient)
    assert both[0].tolist() == both[1].tolist() != [[0.0] * 4] * 2


def main() -> None:
    dist.init_process_group("late")
    rank, group = dist.get_rank(), dist.new_group(backend="late")
    collectives_are_late(rank)
    messages_of_a_batch_are_one_group(rank)
    graphs_are_captured_not_run(rank)
    freed_memory_is_another_s(group)
    events_tell_times()
    models_train(rank)
    dist.destroy_process_group()
    print("as a GPU")


main()
