"""Operations and bytes of operators."""

import pytest

from hocket.chakra.importers.pytorch.work import work_of


class Inputs:
    """Shapes and lists by position; all elements of 2 bytes."""

    def __init__(self, *inputs: tuple[int, ...] | list[int]) -> None:
        self._inputs = inputs

    def shape(self, position: int) -> tuple[int, ...] | None:
        found = self._inputs[position] if position < len(self._inputs) else None
        return found if isinstance(found, tuple) else None

    def element_bytes(self, position: int) -> int:
        return 2

    def integers(self, position: int) -> tuple[int, ...]:
        found = self._inputs[position] if position < len(self._inputs) else ()
        return tuple(found) if isinstance(found, list) else ()


# 3 x 3 kernels with stride 2 and padding 1 on 8 x 8: 4 x 4 outputs of 6 channels, each of 5 * 9 products.
STRIDED = 2 * 2 * 6 * 16 * 45
DATA, WEIGHT, OUTPUT = 2 * 5 * 64, 6 * 45, 2 * 6 * 16
HEADS = ((2, 3, 10, 4), (2, 3, 20, 4), (2, 3, 20, 8))


@pytest.mark.parametrize(
    ("name", "inputs", "num_ops", "elements"),
    [
        ("mm", Inputs((4, 8), (8, 2)), 2 * 4 * 8 * 2, 32 + 16 + 8),
        ("addmm", Inputs((2,), (4, 8), (8, 2)), 2 * 4 * 8 * 2, 32 + 16 + 8),
        ("bmm", Inputs((3, 4, 8), (3, 8, 2)), 3 * 2 * 4 * 8 * 2, 3 * (32 + 16 + 8)),
        ("matmul", Inputs((5, 4, 8), (8, 2)), 2 * 20 * 8 * 2, 160 + 16 + 40),
        ("linear", Inputs((5, 4, 8), (2, 8), (2,)), 2 * 20 * 8 * 2, 160 + 16 + 40),
        ("conv2d", Inputs((2, 5, 8, 8), (6, 5, 3, 3), (6,), [2], [1, 1], [1, 1]), STRIDED, DATA + WEIGHT + OUTPUT),
        (
            "cudnn_convolution",
            Inputs((2, 5, 8, 8), (6, 5, 3, 3), [1, 1], [2, 2], [1, 1]),
            STRIDED,
            DATA + WEIGHT + OUTPUT,
        ),
        (
            "convolution_backward",
            Inputs((2, 6, 4, 4), (2, 5, 8, 8), (6, 5, 3, 3)),
            2 * STRIDED,
            2 * (DATA + WEIGHT) + OUTPUT,
        ),
        ("scaled_dot_product_attention", Inputs(*HEADS), 2 * 60 * 20 * (4 + 8), 240 + 480 + 960 + 480),
    ],
)
def test_by_hand(name: str, inputs: Inputs, num_ops: int, elements: int) -> None:
    assert work_of(f"aten::{name}", inputs) == (num_ops, 2 * elements)


@pytest.mark.parametrize("inputs", [Inputs(), Inputs((4, 8)), Inputs((4, 8), (9, 2)), Inputs((), ())])
def test_shapes_that_do_not_fit(inputs: Inputs) -> None:
    assert work_of("aten::mm", inputs) is None
    assert work_of("aten::conv2d", inputs) is None
    assert work_of("aten::add", inputs) is None
