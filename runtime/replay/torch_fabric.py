"""Operations of a replay by torch.distributed: gloo on CPUs, NCCL on GPUs."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from hocket.base.enums import not_here
from hocket.runtime.replay.fabric import Ended, Pending, Start
from hocket.runtime.replay.operation import Operation

__all__ = ["TorchFabric"]

#: What gloo adds and NCCL too.
_ELEMENTS = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64")
# A rank that waits in vain is found by the replay's own timeout.
_FOREVER = timedelta(days=1)


class TorchFabric:
    """Blocks of one collective must be equal here, except all_to_all's: others are filled up to the largest.

    NCCL has a process group for each direction between two ranks, so that messages of one need not wait for the
    other's; it has not been run on hardware.
    """

    def __init__(
        self,
        backend: str,
        store: Any,
        rank: int,
        size: int,
        groups: Sequence[tuple[int, ...]],
        channels: Sequence[tuple[int, int]],
    ) -> None:
        self.rank, self.size = rank, size
        self._store = dist.PrefixStore("hocket-replay", store)
        self._rounds = 0
        self._cuda = backend == "nccl"
        self._device = torch.device("cuda", rank % torch.cuda.device_count()) if self._cuda else torch.device("cpu")
        if self._cuda:
            torch.cuda.set_device(self._device)
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=_FOREVER)
        world = tuple(range(size))
        # The world's own group is that of the first that has all ranks, as in the job that was recorded.
        self._world_at = groups.index(world) if world in groups else -1
        self._groups = [
            dist.group.WORLD if number == self._world_at else dist.new_group(ranks, timeout=_FOREVER)
            for number, ranks in enumerate(groups)
        ]
        self._channels = {ends: dist.new_group(ends, timeout=_FOREVER) for ends in channels} if self._cuda else {}

    def prepare(self, operations: Sequence[Operation]) -> list[Start]:
        needs = [operation.buffer_bytes for operation in operations]
        source, target = (
            torch.zeros(max((need[side] for need in needs), default=0) + 8, dtype=torch.uint8, device=self._device)
            for side in (0, 1)
        )
        known = [replace(each, element=each.element.within(_ELEMENTS)) for each in operations]
        return [self._start(self._begin(each, source, target)) for each in known]

    def gather(self, value: bytes) -> list[bytes]:
        self._rounds += 1
        self._store.set(f"{self._rounds}/{self.rank}", value)
        if self.rank:
            self._store.wait([f"{self._rounds}/all"], _FOREVER)
            return []
        keys = [f"{self._rounds}/{rank}" for rank in range(self.size)]
        self._store.wait(keys, _FOREVER)
        values = [self._store.get(key) for key in keys]
        self._store.set(f"{self._rounds}/all", b"")
        return values

    def close(self) -> None:
        dist.destroy_process_group()

    def _begin(self, operation: Operation, source: Any, target: Any) -> Callable[[], Any]:
        """The call of torch.distributed that issues the operation."""
        dtype = getattr(torch, operation.element.name)
        group: Any = self._groups[operation.group] if operation.peer < 0 else None
        size, root, is_root = operation.group_size, operation.root, operation.root == self.rank

        def part(buffer: Any, count: int) -> Any:
            return buffer[: count * operation.element.size_bytes].view(dtype)

        block = max(operation.counts, default=0)
        match operation.kind:
            case "all_reduce":
                tensor = part(source, block)
                return lambda: dist.all_reduce(tensor, group=group, async_op=True)
            case "broadcast":
                tensor = part(source, block)
                return lambda: dist.broadcast(tensor, root, group=group, async_op=True)
            case "reduce":
                tensor = part(source, block)
                return lambda: dist.reduce(tensor, root, group=group, async_op=True)
            case "all_gather":
                whole, own = part(target, size * block), part(source, block)
                return lambda: dist.all_gather_into_tensor(whole, own, group=group, async_op=True)
            case "reduce_scatter":
                whole, own = part(source, size * block), part(target, block)
                return lambda: dist.reduce_scatter_tensor(own, whole, group=group, async_op=True)
            case "all_to_all":
                sent, received = list(operation.sent), list(operation.received)
                whole, own = part(target, sum(received)), part(source, sum(sent))
                if len({*sent, *received}) == 1:
                    return lambda: dist.all_to_all_single(whole, own, group=group, async_op=True)
                return lambda: dist.all_to_all_single(whole, own, received, sent, group=group, async_op=True)
            case "gather":
                own = part(source, block)
                parts = list(part(target, size * block).chunk(size)) if is_root else None
                return lambda: dist.gather(own, parts, root, group=group, async_op=True)
            case "scatter":
                own = part(target, block)
                parts = list(part(source, size * block).chunk(size)) if is_root else None
                return lambda: dist.scatter(own, parts, root, group=group, async_op=True)
            case "barrier":
                return lambda: dist.barrier(group=group, async_op=True)
            case "send":
                tensor, channel = part(source, block), self._channels.get((self.rank, operation.peer))
                return lambda: dist.isend(tensor, operation.peer, group=channel, tag=operation.tag)
            case "receive":
                tensor, channel = part(target, block), self._channels.get((operation.peer, self.rank))
                return lambda: dist.irecv(tensor, operation.peer, group=channel, tag=operation.tag)
            case _:
                not_here(operation.kind)

    def _start(self, begin: Callable[[], Any]) -> Start:
        def on_cpu(ended: Ended) -> Pending:
            work: Any = begin()
            # Messages and gloo's reduce_scatter have no future: their end is seen when somebody waits.
            with suppress(RuntimeError):
                work.get_future().add_done_callback(lambda _: ended())
            pending: Pending = work
            return pending

        return (lambda ended: _OnGpu(begin(), self._device)) if self._cuda else on_cpu


class _OnGpu:
    """NCCL's work: its own wait makes a CUDA stream wait, not the host."""

    def __init__(self, work: Any, device: torch.device) -> None:
        self._work, self._device = work, device

    def wait(self) -> None:
        with torch.cuda.stream(torch.cuda.Stream(self._device)):
            self._work.wait()
            event = torch.cuda.Event()
            event.record()
        event.synchronize()
