"""Programs over a group's own messages, at the boundaries that need hardware: what CUDA and NCCL are asked for.

Stands in for them: a recorder of calls. That the results are right is shown on CPUs (test_algorithms.py).
"""

from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import handmade
import pytest

pytest.importorskip("torch")
import torch

from hocket.plugin.serve.binding import Binding
from hocket.plugin.serve.messages import MessageTransport
from hocket.plugin.serve.requests import Reduction, Request
from hocket.plugin.serve.streams import SideStream
from hocket.runtime.engine.library import Library, ProgramChoice, ServedProgram
from hocket.schedule import Kind

pytestmark = pytest.mark.torch

GPU = torch.device("cuda", 0)
CPU = torch.device("cpu")


class Recorder:
    """Every call on it, and on what its calls return, by name."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self._name, self._calls = name, calls

    def __getattr__(self, attribute: str) -> Any:
        def call(*arguments: Any) -> "Recorder":
            shown = ", ".join(given._name for given in arguments if isinstance(given, Recorder))
            self._calls.append(f"{self._name}.{attribute}({shown})")
            return Recorder(attribute, self._calls)

        return call


class Cuda(Recorder):
    def stream(self, side: Recorder) -> Any:
        self._calls.append(f"within {side._name}")
        return nullcontext()


def test_the_side_stream_is_ordered_as_nccl_orders_its_own() -> None:
    calls: list[str] = []
    streams = SideStream(GPU, Cuda("cuda", calls))
    with streams.running([Recorder("tensor", calls)]):  # type: ignore[list-item]  # stands in for a CUDA tensor
        calls.append("work")
        mark = streams.mark()
    streams.join(mark)
    assert calls == [
        "cuda.Stream()",
        "cuda.current_stream()",
        "Stream.wait_stream(current_stream)",  # inputs are there
        "tensor.record_stream(Stream)",  # and stay there
        "within Stream",
        "work",
        "cuda.Event()",
        "Event.record(Stream)",
        "cuda.current_stream()",
        "current_stream.wait_event(Event)",  # the stream waits, not the host
    ]


class Nccl:
    """A backend of two ranks whose other one sends zeros."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def name(self) -> str:
        return "nccl"

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 2

    def allgather(self, outputs: list[list[Any]], inputs: list[Any]) -> Recorder:
        for output in outputs[0]:
            output.copy_(inputs[0])
        return Recorder("gathered", [])

    def send(self, tensors: list[Any], peer: int, tag: int) -> None:
        self.calls.append(f"send {tensors[0].view(torch.float32).tolist()} to {peer}")

    def recv(self, tensors: list[Any], peer: int, tag: int) -> None:
        tensors[0].zero_()
        self.calls.append(f"receive {len(tensors[0]) // 4} from {peer}")

    def _start_coalescing(self) -> None:
        self.calls.append("start")

    def _end_coalescing(self) -> Recorder:
        self.calls.append("end")
        return Recorder("work", self.calls)


def test_a_round_is_one_group_of_nccls() -> None:
    algorithm = ServedProgram("ring", handmade.ring_all_reduce(2))
    nccl = Nccl()
    transport = MessageTransport(nccl, CPU, Library("made", (algorithm,)))
    tensor = torch.tensor([1.0, 2.0, 3.0, 4.0])
    request = Request(Kind.ALL_REDUCE, [tensor], [tensor], Reduction.SUM)
    float32 = 7
    choice = ProgramChoice(algorithm, 0, in_place=True, chunk_bytes=8)
    transport.run(Binding(choice, request, share_bytes=16, element=float32), timedelta(seconds=1))
    assert nccl.calls == [
        *("start", "send [1.0, 2.0] to 1", "receive 2 from 1", "end", "work.wait()"),
        *("start", "send [3.0, 4.0] to 1", "receive 2 from 1", "end", "work.wait()"),
    ]
    assert tensor.tolist() == [0, 0, 3, 4]  # the second chunk had zeros added here, the first was added up there
