"""Programs for who calls them by name, as inference engines do: tuned at the start, captured in graphs afterwards."""

import atexit
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from hocket.base.errors import HocketError
from hocket.base.notices import notice
from hocket.base.version import __version__
from hocket.plugin.serve import VARIABLE
from hocket.plugin.serve.agreement import exchange_words
from hocket.plugin.serve.binding import Binding, bind
from hocket.plugin.serve.called_groups import called_group
from hocket.plugin.serve.counts import Counts
from hocket.plugin.serve.direct_call import CALLED_KINDS, DirectCall
from hocket.plugin.serve.engine import Engine, Task
from hocket.plugin.serve.opening import ENGINE_VARIABLE, EngineName, open_engine
from hocket.plugin.serve.requests import Unserved
from hocket.plugin.serve.streams import CallerStream, HostStreams, is_capturing
from hocket.plugin.serve.tuned_choices import STOCK, TunedChoices, TunedSize
from hocket.plugin.serve.tuning import agreed_times, median_ns
from hocket.plugin.torch import interfaces
from hocket.runtime.engine.library import Library, ProgramChoice, read_library
from hocket.schedule import Kind

__all__ = ["GroupCommunicator", "open_communicator"]

#: 8 KiB to 2 MiB: where inference engines call their own all_reduce.
_SIZES = tuple(1 << power for power in range(13, 22))


def open_communicator(
    group: dist.ProcessGroup | None, bundle: str | Path | None, engine: str | None, device: torch.device | str | None
) -> "GroupCommunicator":
    """As `hocket.communicator`."""
    if not dist.is_initialized():
        raise HocketError("no process group: call torch.distributed.init_process_group before hocket.communicator")
    source = str(bundle or os.environ.get(VARIABLE) or "")
    if not source:
        raise HocketError(f"no programs: give hocket.communicator a bundle, or set {VARIABLE}")
    name = engine or os.environ.get(ENGINE_VARIABLE) or EngineName.DEVICE
    try:
        wanted = EngineName(name)
    except ValueError:
        raise HocketError(f"engine {name}: give one of {', '.join(EngineName)}") from None
    group = group or dist.group.WORLD
    made = GroupCommunicator(group, read_library(source), wanted, _device_of(device))
    if made.rank == 0:
        atexit.register(_report, made.counts, os.getpid())
    return made


def _device_of(device: torch.device | str | None) -> torch.device:
    if device is not None:
        asked = torch.device(device)
        named = asked.type == "cuda" and asked.index is None  # calls' tensors say which
        return torch.device("cuda", torch.cuda.current_device()) if named else asked
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


def _report(counts: Counts, process: int) -> None:
    if os.getpid() == process:
        notice(counts.describe())


class GroupCommunicator:
    """Collectives of one group on one device, each by the program that was quickest, or by the stock library where that
    was, or where no program is for the call: which is counted, with its reason, in `counts`.

    Making it is collective; its functions are, too, and come in the same order on all ranks. They run on the caller's
    current stream of the device and may be captured in a graph there, once a call like it was run or tuned. They return
    the tensor with the result. Raises HocketError where a rank did not do its part, and then always.
    """

    def __init__(self, group: dist.ProcessGroup, library: Library, wanted: EngineName, device: torch.device) -> None:
        self._group, self._device = group, device
        self._called = called_group(group)
        self.rank: int = group.rank()
        self.size: int = group.size()
        programs = library.of_group(self._called.ranks)
        self.counts = Counts(library if isinstance(programs, str) else programs)
        streams = HostStreams() if device.type == "cpu" else CallerStream(device)
        self._engine: Engine | str = open_engine(
            group, device, programs, self.counts, wanted=wanted, purpose="communicator", streams=streams
        )
        if isinstance(self._engine, Engine):
            programs = self._engine.library
        names = [] if isinstance(programs, str) else [algorithm.name for algorithm in programs.algorithms]
        reached = isinstance(self._engine, Engine) and self._engine.by_messages
        self._names = names
        self._made_for = {
            "programs": "none" if isinstance(programs, str) else f"{programs.fingerprint:08x}",
            "ranks": self.size,
            "engine": f"{wanted}, over the group's own messages" if reached else str(wanted),
            "device": _device_name(device),
        }
        self._table = TunedChoices([], names, self._made_for, {})

    # --- Collectives -------------------------------------------------------------------------------------------------

    def all_reduce(
        self, tensor: torch.Tensor, op: Any = dist.ReduceOp.SUM, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        """In place, or into `out`, which has its shape and type. Raises HocketError for another."""
        if out is not None and (out.shape, out.dtype) != (tensor.shape, tensor.dtype):
            had, wanted = f"{tuple(out.shape)} of {out.dtype}", f"{tuple(tensor.shape)} of {tensor.dtype}"
            raise HocketError(f"all_reduce: out is {had}: expected {wanted}, as the tensor")
        return self._run(DirectCall(Kind.ALL_REDUCE, tensor, tensor if out is None else out, op))

    def all_gather(self, out: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
        """`out`: every rank's `tensor`, by rank."""
        return self._run(DirectCall(Kind.ALL_GATHER, tensor, out))

    def reduce_scatter(self, out: torch.Tensor, tensor: torch.Tensor, op: Any = dist.ReduceOp.SUM) -> torch.Tensor:
        """`out`: this rank's share of all ranks' `tensor`, reduced."""
        return self._run(DirectCall(Kind.REDUCE_SCATTER, tensor, out, op))

    def all_to_all(self, out: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
        """`out`: a share of every rank's `tensor`, by rank; all shares are equal."""
        return self._run(DirectCall(Kind.ALL_TO_ALL, tensor, out))

    def broadcast(self, tensor: torch.Tensor, root: int = 0) -> torch.Tensor:
        """In place; `root`: in the group."""
        return self._run(DirectCall(Kind.BROADCAST, tensor, tensor, None, root))

    # --- Tuning ------------------------------------------------------------------------------------------------------

    @property
    def table(self) -> TunedChoices:
        """What was measured: the same on all ranks. Without rows, programs serve the sizes that the bundle says."""
        return self._table

    def describe(self) -> str:
        """The table as text, then the calls so far."""
        why = f"hocket: no programs: {self._engine}\n" if isinstance(self._engine, str) else ""
        return f"{why}{self._table.describe()}\n{self.counts.describe()}"

    def tune(
        self,
        kinds: Iterable[Kind | str] | None = None,
        sizes: Sequence[int] = _SIZES,
        *,
        dtype: torch.dtype = torch.bfloat16,
        root: int = 0,
        repetitions: int = 20,
    ) -> TunedChoices:
        """Measures every program of the bundle and the stock library at each size, and takes the quickest for calls of
        so many bytes and fewer. On GPUs under graphs, where programs can be captured. Collective, with the same
        arguments on all ranks.

        `kinds`: collectives (None: all that a communicator has and the bundle has programs for); `sizes`: bytes of a
        rank's whole buffer; `root`: of broadcasts; `repetitions`: of which the median counts. What was measured before
        is replaced. Raises HocketError for a collective that a communicator does not have.
        """
        rows = [
            row
            for kind in self._kinds(kinds)
            for size in sorted(set(sizes))
            if (row := self._measured(kind, root if kind.rooted else -1, size, dtype, repetitions)) is not None
        ]
        remarks = {
            "hocket": __version__,
            "torch": str(torch.__version__),
            "dtype": str(dtype).removeprefix("torch."),
            "repetitions": repetitions,
        }
        self._table = TunedChoices(rows, self._names, self._made_for, remarks)
        return self._table

    def save(self, path: str | Path) -> None:
        """Writes the table as JSON, on rank 0 alone. Raises HocketError where the file cannot be written."""
        if self.rank == 0:
            self._table.save(path)

    def load(self, path: str | Path) -> TunedChoices:
        """Takes a table that `save` wrote, in place of tuning. Collective. Raises HocketError, on all ranks, where one
        cannot read it, it was made for other programs, ranks, engine or device, or the ranks read different ones."""
        words, table = "", None
        try:
            table = TunedChoices.load(path, self._names, self._made_for)
            words = f"read {table.checksum:08x}"
        except HocketError as error:
            words = str(error)
        backend = interfaces.BACKEND.need()(self._group, self._device)
        answers = exchange_words(backend, self._device, words)
        for rank, answer in enumerate(answers):
            if not answer.startswith("read "):
                raise HocketError(words if rank == self.rank else f"rank {rank}: {answer}")
            if answer != answers[0]:
                raise HocketError(f"ranks 0 and {rank} read different tables from {path}: give all the same file")
        assert table is not None
        self._table = table
        return table

    def _kinds(self, kinds: Iterable[Kind | str] | None) -> list[Kind]:
        if kinds is None:
            return [kind for kind in CALLED_KINDS if self._candidates(kind, None)]
        wanted = list(kinds)
        if unknown := [kind for kind in wanted if kind not in CALLED_KINDS]:
            raise HocketError(f"{unknown[0]}: a communicator has {', '.join(CALLED_KINDS)}")
        return [Kind(kind) for kind in wanted]

    def _candidates(self, kind: Kind, root: int | None) -> list[int]:
        """`root` None: any."""
        if isinstance(self._engine, str):
            return []
        roots = range(self.size) if root is None and kind.rooted else [-1 if root is None else root]
        return [number for each in roots for number in self._engine.library.candidates(kind, self.size, each)]

    def _measured(self, kind: Kind, root: int, size: int, dtype: torch.dtype, repetitions: int) -> TunedSize | None:
        """None: nothing to choose from, or the size is none of whole elements."""
        candidates = self._candidates(kind, root)
        shares = self.size if kind.in_blocks else 1
        count = size // (shares * dtype.itemsize)
        if not candidates or not count:
            return None
        source, target = (
            torch.zeros(count * (1 if is_block else shares), dtype=dtype, device=self._device)
            for is_block in (kind.input_is_block, kind.output_is_block)
        )
        op = dist.ReduceOp.SUM if kind.reduces else None
        call = DirectCall(kind, target if kind.shares_buffer else source, target, op, root)
        with self._uncounted():
            times = [self._time(call, number, repetitions) for number in (STOCK, *candidates)]
        agreed = agreed_times(times, self._group, self._device)
        return TunedSize(kind, root, size, dict(zip((STOCK, *candidates), agreed, strict=True)))

    def _time(self, call: DirectCall, number: int, repetitions: int) -> int:
        engine = self._engine
        assert isinstance(engine, Engine)
        if number == STOCK:
            in_graph = self._device.type != "cpu" and not engine.by_messages
            return median_ns(lambda: call.run_stock(self._group), self._group, self._device, in_graph, repetitions)

        def find(kind: Kind, share_bytes: int, element_bytes: int, *_: int) -> ProgramChoice:
            return engine.library.choice(number, share_bytes, element_bytes)

        binding = bind(call.request(self.rank), find, self.size, engine.elements)
        in_graph = self._device.type != "cpu" and not engine.by_messages
        return median_ns(lambda: self._serve(call, binding), self._group, self._device, in_graph, repetitions)

    @contextmanager
    def _uncounted(self) -> Iterator[None]:
        assert isinstance(self._engine, Engine)
        self._engine.counts = Counts(self._engine.library)
        try:
            yield
        finally:
            self._engine.counts = self.counts

    # --- A call ------------------------------------------------------------------------------------------------------

    def _run(self, call: DirectCall) -> torch.Tensor:
        try:
            self._serve(call, self._bound(call))
        except Unserved as reason:
            self.counts.add_stock(call.kind, str(reason), 1, self._called, call.size_bytes)
            call.run_stock(self._group)
        return call.target

    def _bound(self, call: DirectCall) -> Binding:
        """Raises Unserved where no program serves the call."""
        if isinstance(self._engine, str):
            raise Unserved(self._engine)
        if {call.source.device, call.target.device} != {self._device}:
            raise Unserved(f"tensors that are not on {self._device}")
        binding = bind(call.request(self.rank), self._find, self.size, self._engine.elements)
        if is_capturing(self._device) and (refusal := self._engine.capture_refusal([binding])):
            raise Unserved(refusal)
        return binding

    def _find(self, kind: Kind, share_bytes: int, element_bytes: int, num_ranks: int, root: int) -> ProgramChoice | str:
        """By the table, where so large a call was measured, else by what the bundle says."""
        assert isinstance(self._engine, Engine)
        library = self._engine.library
        number = self._table.choice(kind, root, share_bytes * (num_ranks if kind.in_blocks else 1))
        if number is None:
            return library.find(kind, share_bytes, element_bytes, num_ranks, root)
        if number == STOCK:
            return "the stock library was the quickest when it was tuned"
        return library.choice(number, share_bytes, element_bytes)

    def _serve(self, call: DirectCall, binding: Binding) -> None:
        engine = self._engine
        assert isinstance(engine, Engine)
        task = Task(engine, call.kind, [binding], engine.timeout, is_capturing(self._device))
        engine.submit(task, is_async=False)
        task.join()


def _device_name(device: torch.device) -> str:
    return str(torch.cuda.get_device_name(device)) if device.type == "cuda" else device.type
