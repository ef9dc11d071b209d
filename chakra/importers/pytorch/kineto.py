"""Kineto's timeline (chrome trace JSON): times of operators, communication and what runs on the device."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from hocket.base.collectives import kind_called
from hocket.base.errors import FormatError
from hocket.chakra.c10d import OPERATIONS
from hocket.chakra.importers.dtypes import dtype_name, element_bytes
from hocket.chakra.importers.files import MALFORMED
from hocket.chakra.importers.json_array import JsonArray
from hocket.chakra.importers.pytorch.c10d import Described, describe, describe_direct, describe_span
from hocket.chakra.importers.pytorch.host import HostEvent, ProcessGroup, What
from hocket.chakra.importers.pytorch.kineto_arguments import KinetoArguments, numbers_in
from hocket.chakra.importers.pytorch.work import OperatorWork, Product, product_of, work_of

__all__ = ["DEVICE", "DeviceEvent", "HostOperator", "Kineto", "read_kineto"]

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**60)]
_Id = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
# Microseconds; with the base they make at most 7.5e18 ns.
_Time = Annotated[float, msgspec.Meta(ge=0, le=2.5e15)]
_Duration = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]


class _Args(msgspec.Struct):
    external: _Id = msgspec.field(name="External id", default=-1)
    function: _Id = msgspec.field(name="Record function id", default=0)
    dims: msgspec.Raw = msgspec.field(name="Input Dims", default=msgspec.Raw(b"[]"))
    types: msgspec.Raw = msgspec.field(name="Input type", default=msgspec.Raw(b"[]"))
    concrete: msgspec.Raw = msgspec.field(name="Concrete Inputs", default=msgspec.Raw(b"[]"))
    correlation: _Id = -1
    stream: _Id | str | None = None
    num_bytes: float = msgspec.field(name="bytes", default=0.0)
    collective: str = msgspec.field(name="Collective name", default="")
    dtype: str = ""
    elements_in: _Id = msgspec.field(name="In msg nelems", default=-1)
    elements_out: _Id = msgspec.field(name="Out msg nelems", default=-1)
    in_splits: str = msgspec.field(name="In split size", default="")
    group: str | None = msgspec.field(name="Process Group Name", default=None)
    group_size: _Id = msgspec.field(name="Group size", default=0)
    group_ranks: str = msgspec.field(name="Process Group Ranks", default="")
    rank_start: _Id = msgspec.field(name="Global rank start", default=-1)
    rank_stride: _Id = msgspec.field(name="Global rank stride", default=-1)
    sequence: _Id | None = msgspec.field(name="Seq", default=None)
    source: _Id = msgspec.field(name="Src Rank", default=-1)
    destination: _Id = msgspec.field(name="Dst Rank", default=-1)
    sync: str = msgspec.field(name="cuda_sync_kind", default="")
    waited_stream: _Id = msgspec.field(name="wait_on_stream", default=-1)
    waited_record: _Id = msgspec.field(name="wait_on_cuda_event_record_corr_id", default=-1)


class _Event(msgspec.Struct):
    ph: str = ""
    cat: str = ""
    name: str = ""
    ts: _Time = 0.0
    dur: _Duration = 0.0
    tid: int | str = 0
    args: msgspec.Raw = msgspec.Raw(b"{}")


class _Group(msgspec.Struct):
    pg_name: str
    pg_desc: str = ""
    pg_size: _Count = 0
    ranks: list[_Count] = []


class _Distributed(msgspec.Struct, frozen=True):
    rank: Annotated[int, msgspec.Meta(ge=0, le=2**24)] | None = None
    world_size: Annotated[int, msgspec.Meta(ge=1, le=2**24)] | None = None
    pg_config: tuple[_Group, ...] = ()
    backend: Any = None
    nccl_version: Any = None


class _Device(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(max_length=200)] = ""


class _Rest(msgspec.Struct):
    base: Annotated[int, msgspec.Meta(ge=0, le=4 * 10**18)] = msgspec.field(name="baseTimeNanoseconds", default=0)
    devices: msgspec.Raw = msgspec.field(name="deviceProperties", default=msgspec.Raw(b"[]"))
    distributed: _Distributed = msgspec.field(name="distributedInfo", default=_Distributed())


@dataclass(frozen=True, slots=True)
class HostOperator:
    """An operator or annotation on a thread of the host, in ns; `work` where a formula tells it."""

    name: str
    thread: int
    start: int
    end: int
    external: int
    is_annotation: bool
    work: OperatorWork | None
    product: Product | None = None


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """A kernel, copy or fill on a stream, in ns; `correlation` is that of its launch, `external` the External id of
    the operator that launched it, `record` what the event itself tells of the operation of NCCL that it does."""

    kind: str
    name: str
    stream: int
    start: int
    end: int
    correlation: int
    external: int
    num_bytes: int
    record: HostEvent | None = None

    @property
    def is_collective(self) -> bool:
        return self.kind == "kernel" and _COLLECTIVE_KERNEL.search(self.name) is not None

    @property
    def expert_operation(self) -> str:
        """`dispatch` or `combine` for DeepEP's kernel that moves tokens to the ranks of their experts or back,
        `notify` for one in which ranks wait for each other before, else ""."""
        found = _EXPERT_KERNEL.search(self.name) if self.kind == "kernel" else None
        return "" if found is None else "notify" if "notify" in found[1] else found[1]

    @property
    def is_communication(self) -> bool:
        """Whether it has a stream of its own, apart from that of computation."""
        return self.is_collective or self.expert_operation != ""

    @property
    def communicates(self) -> bool:
        """Whether its name is one of a kernel that moves bytes between ranks, by whatever library."""
        return self.is_communication or (self.kind == "kernel" and _OTHER_COMMUNICATION.search(self.name) is not None)


@dataclass
class Kineto:
    """One rank's timeline. `listed` are the process groups that the profile lists, `groups` also those that
    operations tell. `launches` is the time and thread of each call of CUDA by correlation, `launched` the
    correlations of those that launched kernels; `stream_waits` the correlations of calls that made a stream wait
    for an event; `waited`, where the profile has synchronization events, the waiting and the awaited stream of such
    a call and the correlation of the event's record. `events` and `device` are in order of start. Times count from
    `base`. `functions` are the least and the largest record function id, None where there are none, `threads` the
    system's numbers of threads. `num_odd` attributes were of another type than they should be, `num_negative`
    events ended before they began, and `unread` are how many events of other categories there are, and how many us
    they last."""

    rank: int | None = None
    world: int | None = None
    backend: str = ""
    nccl_version: str = ""
    listed: tuple[ProcessGroup, ...] = ()
    groups: list[ProcessGroup] = field(default_factory=list)
    operations: list[HostOperator] = field(default_factory=list)
    events: list[HostEvent] = field(default_factory=list)
    device: list[DeviceEvent] = field(default_factory=list)
    launches: dict[int, tuple[int, int]] = field(default_factory=dict)
    launched: set[int] = field(default_factory=set)
    stream_waits: list[int] = field(default_factory=list)
    waited: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    steps: list[tuple[int, int]] = field(default_factory=list)
    base: int = 0
    is_cut: bool = False
    gpu: str = ""
    functions: tuple[int, int] | None = None
    threads: dict[int, int] = field(default_factory=dict)
    num_odd: int = 0
    num_negative: int = 0
    unread: dict[str, tuple[int, float]] = field(default_factory=dict)

    def lost(self) -> list[int]:
        """When those kernels were launched (ns, ascending) that are not in the profile."""
        seen = {event.correlation for event in self.device}
        return sorted(self.launches[correlation][0] for correlation in self.launched - seen)


DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_RUNTIME = ("cuda_runtime", "cuda_driver")
_HOST = ("cpu_op", "user_annotation", "Operator")
_READ = frozenset([*DEVICE, *_RUNTIME, *_HOST, "cuda_sync"])
# What older profilers called them.
_OLD_CATEGORIES = {"Kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset", "Runtime": "cuda_runtime"}
# Spans around others, the host's frames, and the profiler's own.
_ABOUT_OTHERS = frozenset(["Trace", "python_function", "gpu_user_annotation", "cuda_profiler_range", "overhead"])
# Kernels of NCCL, RCCL and MSCCL within RCCL.
_COLLECTIVE_KERNEL = re.compile(r"(?i)(?:nccl|msccl|rccl)")
# Of DeepEP, also where others call its namespace otherwise: what moves tokens, and what ranks agree by before.
_EXPERT_KERNEL = re.compile(
    r"\bep::(?:internode|intranode|internode_ll)::(dispatch|combine|notify|cached_notify|notify_dispatch|notify_combine)\b"
)
# Of vLLM's and SGLang's own all_reduce, of PyTorch's symmetric memory, of DeepEP and NVSHMEM.
_OTHER_COMMUNICATION = re.compile(
    r"\b(?:cross_device_reduce|quick_?reduce|(?:multimem|one_shot|two_shot)_(?:all|reduce)|deep_ep::|nvshmem)|"
    r"\b\w*ep::(?:internode|intranode|internode_ll)::"
)
_LAUNCH = re.compile(r"(?:cuda|cu|hip)\w*Launch(?!Host)")
_LONGEST_PAUSE = 3600 * 10**9  # ns
_STEP = re.compile(r"ProfilerStep#(\d{1,9})")


def read_kineto(path: Path) -> Kineto:
    """Reads a file, plain or gzip, in little memory beside what is kept. Raises FormatError, naming it, for others."""
    array: JsonArray[_Event, _Rest] = JsonArray(path, "traceEvents", _Event, _Rest)
    kineto = Kineto()
    reader = _Reader(kineto)
    for block in array.blocks():
        for event in block:
            if event.ph == "X":
                try:
                    reader.add(event)
                except MALFORMED as error:
                    raise FormatError(f"{path}: event '{event.name}' at {event.ts}: {error}") from error
    rest = array.rest
    info = rest.distributed
    kineto.rank, kineto.world, kineto.is_cut = info.rank, info.world_size, array.is_cut
    kineto.backend, kineto.nccl_version = str(info.backend or ""), str(info.nccl_version or "")
    kineto.listed = tuple(
        ProcessGroup(group.pg_name, group.pg_desc, group.pg_size, tuple(group.ranks)) for group in info.pg_config
    )
    kineto.groups = list({group.name: group for group in [*reader.groups.values(), *kineto.listed]}.values())
    kineto.base, kineto.gpu = rest.base, _gpu(rest.devices)
    kineto.threads = reader.system_threads()
    kineto.events.sort(key=lambda event: (event.start, -event.end))
    kineto.device.sort(key=lambda event: (event.start, event.end, event.correlation))
    _check_clock(path, kineto.device, "on the device")
    _check_clock(path, sorted(kineto.operations, key=lambda operation: operation.start), "on the host")
    return kineto


def _check_clock(path: Path, events: Sequence[DeviceEvent | HostOperator], where: str) -> None:
    """Raises FormatError where nothing happens for so long that the times cannot be one clock's."""
    last = events[0].end if events else 0
    for event in events:
        if event.start - last > _LONGEST_PAUSE:
            hours = (event.start - last) / _LONGEST_PAUSE
            raise FormatError(
                f"{path}: '{event.name}' begins {hours:.1f} hours after all before it {where}: its times are of two "
                "clocks or of two profiles; profile again, or leave out the events of one"
            )
        last = max(last, event.end)


def _gpu(properties: msgspec.Raw) -> str:
    """What the driver calls the GPUs, "" where that is not told or they are several sorts."""
    try:
        names = {device.name for device in msgspec.json.decode(properties, type=list[_Device])}
    except msgspec.MsgspecError:
        return ""
    return names.pop() if len(names) == 1 else ""


class _Reader:
    """Sorts events into what a `Kineto` keeps."""

    def __init__(self, kineto: Kineto) -> None:
        self._kineto = kineto
        self._decoder = msgspec.json.Decoder(_Args)
        self._threads: dict[int | str, int] = {}
        self._names: dict[str, str] = {}
        self.groups: dict[str, ProcessGroup] = {}

    def system_threads(self) -> dict[int, int]:
        """The system's numbers of the threads that have one, by the numbers that are given to them here."""
        return {thread: tid for tid, thread in self._threads.items() if type(tid) is int}

    def add(self, event: _Event) -> None:
        event.cat = _OLD_CATEGORIES.get(event.cat, event.cat)
        if event.cat not in _READ:
            if event.cat not in _ABOUT_OTHERS:
                count, took = self._kineto.unread.get(event.cat, (0, 0.0))
                self._kineto.unread[event.cat] = count + 1, took + event.dur
            return
        args = self._arguments(event.args)
        start = round(event.ts * 1000)
        end = start + max(round(event.dur * 1000), 0)
        self._kineto.num_negative += event.dur < 0
        thread = self._threads.setdefault(event.tid, len(self._threads))
        name = self._names.setdefault(event.name, event.name)
        if event.cat in DEVICE:
            kind = event.cat.removeprefix("gpu_")
            stream = _stream(args.stream, thread)
            num_bytes = int(min(max(args.num_bytes, 0), 2**60))
            common = {"order": start, "thread": thread, "function": 0, "start": start, "end": end}
            record = next(self._recorded(args, common), None) if args.collective else None
            self._kineto.device.append(
                DeviceEvent(kind, name, stream, start, end, args.correlation, args.external, num_bytes, record)
            )
        elif event.cat in _RUNTIME:
            self._kineto.launches[args.correlation] = start, thread
            if _LAUNCH.match(name):
                self._kineto.launched.add(args.correlation)
            if name in ("cudaStreamWaitEvent", "cuStreamWaitEvent", "hipStreamWaitEvent"):
                self._kineto.stream_waits.append(args.correlation)
        elif event.cat == "cuda_sync":
            if args.sync == "Stream Wait Event":
                stream = _stream(args.stream, thread)
                self._kineto.waited[args.correlation] = stream, args.waited_stream, args.waited_record
        else:
            self._host(event, args, name, thread, start, end)

    def _arguments(self, raw: msgspec.Raw) -> _Args:
        """The attributes that are read; one of another type than expected is as good as absent, and counted."""
        try:
            return self._decoder.decode(raw)
        except msgspec.ValidationError:
            told = msgspec.json.decode(raw)
        args = _Args()
        for known in msgspec.structs.fields(_Args):
            if isinstance(told, dict) and known.encode_name in told:
                value = told[known.encode_name]
                try:
                    typed = msgspec.Raw(msgspec.json.encode(value))
                    setattr(
                        args, known.name, typed if known.type is msgspec.Raw else msgspec.convert(value, known.type)
                    )
                except msgspec.ValidationError:
                    self._kineto.num_odd += 1
        return args

    def _host(self, event: _Event, args: _Args, name: str, thread: int, start: int, end: int) -> None:
        if args.function > 0:
            low, high = self._kineto.functions or (args.function, args.function)
            self._kineto.functions = min(low, args.function), max(high, args.function)
        if step := _STEP.fullmatch(name):
            self._kineto.steps.append((start, int(step[1])))
        arguments = KinetoArguments(args.dims, args.types, args.concrete)
        namespace, _, operation = name.rpartition("::")
        common: dict[str, Any] = {"order": start, "thread": thread, "start": start, "end": end}
        common |= {"function": args.function, "external": args.external}
        if namespace == "c10d" and operation in OPERATIONS:
            described = describe(OPERATIONS[operation], arguments)
            self._kineto.events.append(HostEvent(What.CALL, name, described=described, **common))
        elif direct := describe_direct(name, arguments):
            self._kineto.events.append(HostEvent(What.DIRECT, name, described=direct, **common))
        elif namespace == "_c10d_functional":
            what = What.WAIT_TENSOR if operation == "wait_tensor" else What.FUNCTIONAL
            self._kineto.events.append(HostEvent(what, name, **common))
        elif name.startswith(("gloo:", "nccl:")):
            span = describe_span(name, arguments.every())
            self._kineto.events.append(HostEvent(What.SPAN, name, described=span, **common))
            return
        elif name == "record_param_comms":
            self._kineto.events += self._recorded(args, common)
        is_annotation = event.cat == "user_annotation"
        work = None if is_annotation else work_of(name, arguments)
        product = None if work is None and name != "aten::_scaled_mm" else product_of(name, arguments)
        self._kineto.operations.append(
            HostOperator(name, thread, start, end, args.external, is_annotation, work, product)
        )

    def _recorded(self, args: _Args, common: dict[str, Any]) -> Iterator[HostEvent]:
        name = args.collective
        if name == "wait":
            yield HostEvent(What.WAIT, name, sequence=args.sequence, **common)
        elif kind := kind_called(name):
            if args.group is not None:
                self.groups[args.group] = ProcessGroup(args.group, "", _size(args), _ranks(args))
            splits = numbers_in(args.in_splits)
            elements = args.elements_out if kind in ("scatter", "recv") else args.elements_in
            size = element_bytes(args.dtype)
            num_bytes = elements * size if size and 0 <= elements < 2**56 else -1
            described = Described(
                kind,
                0 if kind == "barrier" else num_bytes,
                kind == "scatter",
                dtype_name(args.dtype),
                peer=_peer(args, kind),
                in_splits=splits if len(set(splits)) > 1 else (),
                members=_size(args),
            )
            yield HostEvent(What.RECORD, name, described=described, group=args.group, sequence=args.sequence, **common)


def _stream(stream: int | str | None, thread: int) -> int:
    """A stream's number; ROCm's profiler writes it as text, and where there is none the thread stands for it."""
    if isinstance(stream, str):
        return int(stream) if re.fullmatch(r"\d{1,18}", stream) else thread
    return thread if stream is None else stream


def _peer(args: _Args, kind: str) -> int:
    """The other end of a message, as a rank of the group; PyTorch writes the world's, or in some versions this one."""
    other = args.destination if kind == "send" else args.source if kind == "recv" else -1
    ranks = _ranks(args)
    return ranks.index(other) if other in ranks else other if other < max(_size(args), 0) else -1


def _size(args: _Args) -> int:
    return min(max(args.group_size, 0), 2**24)


def _ranks(args: _Args) -> tuple[int, ...]:
    """The world ranks of a recorded operation's group; empty where they are not told in full."""
    ranks = numbers_in(args.group_ranks)
    if len(ranks) == args.group_size:
        return ranks
    if args.rank_start >= 0 and args.rank_stride >= 1 and 0 < args.group_size <= 2**20:
        return tuple(range(args.rank_start, args.rank_start + args.rank_stride * args.group_size, args.rank_stride))
    return ()
