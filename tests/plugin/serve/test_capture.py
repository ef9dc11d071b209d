"""What of a program may be captured in a graph, and when: by what was run before, which all ranks know alike."""

from dataclasses import replace

import handmade
import pytest

from hocket.runtime.device.source import ELEMENTS, kernel_source
from hocket.runtime.engine.library import Library, ServedProgram
from hocket.schedule import Kind

pytest.importorskip("torch")
import torch

from hocket.plugin.serve.binding import DEVICE_ELEMENTS, ENGINE_ELEMENTS, Binding, bind
from hocket.plugin.serve.device import wired
from hocket.plugin.serve.loaded import LoadedPrograms
from hocket.plugin.serve.requests import Reduction, Request, Unserved

pytestmark = pytest.mark.torch

RING, TURNED = handmade.ring_all_reduce(2), replace(handmade.ring_all_reduce(2), min_bytes=4096)
LIBRARY = Library("made", [ServedProgram("small", replace(RING, max_bytes=4095)), ServedProgram("large", TURNED)])


def bound(count: int, dtype: torch.dtype, reduction: Reduction = Reduction.SUM) -> Binding:
    tensor = torch.zeros(count, dtype=dtype)
    return bind(Request(Kind.ALL_REDUCE, [tensor], [tensor], reduction), LIBRARY.find, 2, DEVICE_ELEMENTS)


def test_only_what_was_run_before_can_be_captured() -> None:
    wiring, places = wired(LIBRARY, 2)

    def tables(binding: Binding) -> object:
        return wiring.tables(places[binding.choice.number], 0, binding.choice.algorithm.part(0))

    def kernel(binding: Binding) -> str:
        return kernel_source(list(ELEMENTS)[binding.element], binding.operation)

    loaded = LoadedPrograms(tables, kernel)
    small, large = bound(8, torch.float32), bound(4096, torch.float32)
    assert loaded.lacks(small) == "first call of this program happens in a capture: warm up first"
    made, source = loaded.tables(small), loaded.kernel(small)
    assert loaded.lacks(small) == "" and loaded.lacks(large).startswith("first call of this program")
    for other in (bound(8, torch.bfloat16), bound(8, torch.float32, Reduction.MAX)):
        assert loaded.lacks(other) == "first call of this type and reduction happens in a capture: warm up first"
    assert loaded.lacks(bound(9, torch.float32)) == "", "a padded copy is memory of the graph's own pool"
    assert loaded.lacks(bound(8, torch.float32, Reduction.AVG)) == "", "the kernel of sums divides"
    assert loaded.tables(small) is made and loaded.kernel(small) is source


def test_float8_is_the_device_engine_s_alone() -> None:
    tensor = torch.zeros(8).to(torch.float8_e4m3fn)
    request = Request(Kind.ALL_REDUCE, [tensor], [tensor], Reduction.SUM)
    assert bind(request, LIBRARY.find, 2, DEVICE_ELEMENTS).element == list(ELEMENTS).index("float8_e4m3fn")
    with pytest.raises(Unserved, match="sum of float8_e4m3fn"):
        bind(request, LIBRARY.find, 2, ENGINE_ELEMENTS)
