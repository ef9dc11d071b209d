"""Plays NCCL's part against the profiler plugin from Python, by version 5 of its interface; imports nothing of Hocket's
but the library's place, so that it can be run in ranks of a job."""

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path

COLLECTIVE, POINT_TO_POINT, PROXY_OPERATION, PROXY_STEP, KERNEL_CHANNEL = 2, 4, 8, 16, 64
SEND_WAIT, FLUSH_WAIT, KERNEL_STOP = 9, 11, 22
pointer = ctypes.POINTER(ctypes.c_void_p)


class Collective(ctypes.Structure):
    """ncclProfiler v5's collective, as NCCL 2.28 lays it out."""

    _fields_ = (
        ("sequence", ctypes.c_uint64),
        ("function", ctypes.c_char_p),
        ("send_buffer", ctypes.c_void_p),
        ("receive_buffer", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("root", ctypes.c_int),
        ("datatype", ctypes.c_char_p),
        ("channels", ctypes.c_uint8),
        ("warps", ctypes.c_uint8),
        ("algorithm", ctypes.c_char_p),
        ("protocol", ctypes.c_char_p),
        ("parent_group", ctypes.c_void_p),
    )


class PointToPoint(ctypes.Structure):
    _fields_ = (
        ("function", ctypes.c_char_p),
        ("buffer", ctypes.c_void_p),
        ("datatype", ctypes.c_char_p),
        ("count", ctypes.c_size_t),
        ("peer", ctypes.c_int),
        ("channels", ctypes.c_uint8),
        ("parent_group", ctypes.c_void_p),
    )


class ProxyOperation(ctypes.Structure):
    _fields_ = (
        ("process", ctypes.c_int),
        ("channel", ctypes.c_uint8),
        ("peer", ctypes.c_int),
        ("steps", ctypes.c_int),
        ("chunk_bytes", ctypes.c_int),
        ("is_send", ctypes.c_int),
    )


class KernelChannel(ctypes.Structure):
    _fields_ = (("channel", ctypes.c_uint8), ("gpu_timer", ctypes.c_uint64))


class Payload(ctypes.Union):
    _fields_ = (
        ("collective", Collective),
        ("p2p", PointToPoint),
        ("proxy", ProxyOperation),
        ("step", ctypes.c_int),
        ("kernel", KernelChannel),
    )


class Descriptor5(ctypes.Structure):
    _fields_ = (("type", ctypes.c_uint64), ("parent", ctypes.c_void_p), ("rank", ctypes.c_int), ("payload", Payload))


INIT = ctypes.CFUNCTYPE(
    ctypes.c_int, pointer, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int), ctypes.c_char_p, *[ctypes.c_int] * 3,
    ctypes.c_void_p,
)  # fmt: skip
START = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, pointer, ctypes.c_void_p)
HANDLE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
STATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


class Table(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("init", INIT),
        ("start", START),
        ("stop", HANDLE),
        ("state", STATE),
        ("finalize", HANDLE),
    )


@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p)
def _log(level: int, flags: int, file: bytes, line: int, text: bytes) -> None:
    """NCCL's logger, which says nothing here."""


class Communicator:
    """One rank of a communicator, and the calls NCCL makes for it."""

    def __init__(self, library: Path, rank: int, ranks: int, identifier: int = 0xABC, name: str = "") -> None:
        self.table = Table.in_dll(ctypes.CDLL(str(library)), "ncclProfiler_v5")
        self.context = ctypes.c_void_p()
        self.counts: dict[str, int] = {}
        mask = ctypes.c_int()
        place = ctypes.byref(self.context), identifier, ctypes.byref(mask)
        assert self.table.init(*place, name.encode(), 1, ranks, rank, ctypes.cast(_log, ctypes.c_void_p)) == 0

    def start(self, type_: int, parent: int | None = None, **payload: object) -> int | None:
        descriptor = Descriptor5(type=type_, parent=parent, rank=3, payload=Payload(**payload))
        event = ctypes.c_void_p()
        assert self.table.start(self.context, ctypes.byref(event), ctypes.byref(descriptor)) == 0
        return event.value

    def state(self, event: int | None, state: int, argument: int) -> None:
        self.table.state(event, state, ctypes.byref(ctypes.c_uint64(argument)))

    def collective(
        self, function: str, count: int, datatype: str = "ncclBfloat16", root: int = 0, kernel: tuple[int, int] = (0, 0)
    ) -> int | None:
        """A collective by RING and LL128 on one channel; `kernel` is begin and end by the GPU's timer, if recorded."""
        number = self.counts.get(function, 0)
        self.counts[function] = number + 1
        call = Collective(
            sequence=number, function=function.encode(), count=count, datatype=datatype.encode(), root=root, channels=1
        )
        call.algorithm, call.protocol = b"RING", b"LL128"
        event = self.start(COLLECTIVE, collective=call)
        self.table.stop(event)
        if kernel[1]:
            self.run_kernel(event, *kernel)
        return event

    def message(self, function: str, count: int, peer: int, datatype: str = "ncclFloat32") -> int | None:
        """A message that has not stopped yet."""
        call = PointToPoint(function=function.encode(), datatype=datatype.encode(), count=count, peer=peer, channels=4)
        return self.start(POINT_TO_POINT, p2p=call)

    def run_kernel(self, event: int | None, begin: int, end: int) -> None:
        kernel = self.start(KERNEL_CHANNEL, event, kernel=KernelChannel(channel=0, gpu_timer=begin))
        self.state(kernel, KERNEL_STOP, end)
        self.table.stop(kernel)

    def transfer(self, event: int | None, is_send: bool, steps: Sequence[int]) -> None:
        """What a proxy moves for a call: so many bytes in each step."""
        proxy = ProxyOperation(process=os.getpid(), peer=1, steps=len(steps), chunk_bytes=1 << 20, is_send=is_send)
        operation = self.start(PROXY_OPERATION, event, proxy=proxy)
        for number, num_bytes in enumerate(steps):
            step = self.start(PROXY_STEP, operation, step=number)
            self.state(step, SEND_WAIT if is_send else FLUSH_WAIT, num_bytes)
            self.table.stop(step)
        self.table.stop(operation)


def play_ranks(folder: Path, ranks: Sequence[int], play: Callable[[int], None], **variables: str) -> None:
    """Plays in one new process for each of the ranks, all events but the caller's side being recorded."""
    for rank in ranks:
        child = os.fork()
        if child == 0:
            events = "collective,p2p,kernel_channel,proxy_operation,proxy_step"
            os.environ |= {"HOCKET_NCCL_PROFILE": str(folder), "HOCKET_NCCL_EVENTS": events} | variables
            status = 1
            try:
                play(rank)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0, f"rank {rank}"
