"""Which of a library's programs the device interpreter joins, and where."""

import handmade
import pytest

from hocket.runtime.engine.library import Library, ServedProgram
from hocket.schedule import Kind

pytest.importorskip("torch")
from hocket.plugin.serve.device import wired

pytestmark = pytest.mark.torch


def test_programs_of_one_name_are_told_apart_and_those_of_other_sizes_left_out() -> None:
    programs = [
        handmade.ring_all_reduce(2),
        handmade.ring_all_reduce(4),
        handmade.PROGRAMS[Kind.ALL_GATHER](4),
    ]
    wiring, places = wired(Library("made", [ServedProgram("bundle/1.json", program) for program in programs]), 4)
    assert places == {1: 0, 2: 1}
    assert [len(numbers) for numbers in wiring.numbers] == [4, 4]
