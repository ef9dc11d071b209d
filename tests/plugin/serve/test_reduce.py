"""The engine's reductions against PyTorch's, for every value of the 16-bit floats."""

import pytest

from hocket._core import executor as engine

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

TYPES = [
    *(torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
]
OPS = [torch.add, torch.mul, torch.maximum, torch.minimum]


def reduced(dtype: int, op: int, left: "torch.Tensor", right: "torch.Tensor") -> "torch.Tensor":
    out = left.clone()
    engine.reduce(dtype, op, out.data_ptr(), right.data_ptr(), out.data_ptr(), out.numel())
    return out


@pytest.mark.parametrize("dtype", range(len(TYPES)))
@pytest.mark.parametrize("op", range(len(OPS)))
def test_agrees_with_torch(dtype: int, op: int) -> None:
    left = torch.randint(-100, 100, (1001,)).to(TYPES[dtype])
    right = torch.randint(-100, 100, (1001,)).to(TYPES[dtype])
    assert torch.equal(reduced(dtype, op, left, right), OPS[op](left, right))


@pytest.mark.parametrize("dtype", [5, 6])
def test_every_16_bit_float_is_rounded_as_torch_rounds(dtype: int) -> None:
    every = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(TYPES[dtype])
    generator = torch.Generator().manual_seed(1)
    for _ in range(8):
        other = every[torch.randperm(len(every), generator=generator)]
        for op, function in ((0, torch.add), (1, torch.mul)):
            # one operation in float, rounded once: what torch does on every machine when asked in these steps
            expected = function(every.float(), other.float()).to(TYPES[dtype])
            got = reduced(dtype, op, every, other)
            assert torch.equal(got.isnan(), expected.isnan())
            numbers = ~expected.isnan()
            assert torch.equal(got[numbers].view(torch.int16), expected[numbers].view(torch.int16))


def test_integers_wrap() -> None:
    top = torch.tensor([2**31 - 1, -(2**31)], dtype=torch.int32)
    assert reduced(3, 0, top, torch.tensor([1, -1], dtype=torch.int32)).tolist() == [-(2**31), 2**31 - 1]
