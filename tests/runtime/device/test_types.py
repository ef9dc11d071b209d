"""Types that only devices add: every pair of values, against PyTorch's own conversions."""

from concurrent.futures import ThreadPoolExecutor

import handmade
import pytest
from engine_world import Meeting

from hocket.runtime.device.source import ELEMENTS
from hocket.runtime.device.threads import ThreadRank
from hocket.runtime.device.wiring import Wiring
from hocket.runtime.engine.library import Library, ServedProgram

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

RANKS = 2
TYPES = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


def summed(name: str, first: "torch.Tensor", second: "torch.Tensor") -> "torch.Tensor":
    """What an all_reduce of two ranks leaves on rank 0."""
    served = ServedProgram("ring", handmade.ring_all_reduce(RANKS))
    library, wiring, meeting = Library("made", [served]), Wiring.of([served.program]), Meeting(RANKS)
    data = [first.clone(), second.clone()]

    def run(rank: int) -> None:
        device = ThreadRank(wiring, rank, meeting.tell(rank))
        way = wiring.way(0, list(ELEMENTS).index(name), 0, (first.nbytes,), 20_000)
        place, width = data[rank].data_ptr(), first.element_size()
        tables = device.tables(0, served.part(rank))
        device.serve(library.native, (0, True), tables, (place, place, True), first.nbytes, width, way)

    with ThreadPoolExecutor(RANKS) as threads:
        list(threads.map(run, range(RANKS)))
    assert torch.equal(data[0].view(torch.uint8), data[1].view(torch.uint8))
    return data[0]


@pytest.mark.parametrize("name", TYPES)
def test_sums_are_rounded_as_pytorch_rounds(name: str) -> None:
    dtype = getattr(torch, name)
    if dtype.itemsize == 1:
        every = torch.arange(256, dtype=torch.uint8).view(dtype)
        first, second = every.repeat(256), every.view(torch.uint8).repeat_interleave(256).view(dtype)
    else:
        bits = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16)
        first, second = (
            bits.view(dtype),
            bits[torch.randperm(1 << 16, generator=torch.Generator().manual_seed(1))].view(dtype),
        )
    wanted = (first.float() + second.float()).to(dtype).float()
    found = summed(name, first, second).float()
    assert torch.equal(found.isnan(), wanted.isnan())
    numbers = ~wanted.isnan()
    assert torch.equal(found[numbers], wanted[numbers])
