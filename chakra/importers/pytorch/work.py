"""Operations and bytes of operators, from the shapes of their inputs.

An addition or a multiplication is one operation, so a multiply-add two. Bytes are what is read and written once:
the roofline's lower bound. Formulas are those of torch.utils.flop_counter, and like there nothing but products of
matrices, convolutions and attention is counted.
"""

from collections.abc import Callable
from math import prod
from typing import NamedTuple, Protocol

__all__ = ["OperatorWork", "Product", "Shapes", "product_of", "work_of"]

Shape = tuple[int, ...]
_MOST = 2**62


class OperatorWork(NamedTuple):
    """`num_ops` operations on `num_bytes` bytes."""

    num_ops: int
    num_bytes: int


class Product(NamedTuple):
    """`groups` multiplications [m, k] x [k, n] of elements of `element_bytes`."""

    groups: int
    m: int
    n: int
    k: int
    element_bytes: int


class Shapes(Protocol):
    """The inputs of an operator: shapes of tensors (None for others), bytes of an element, lists of integers."""

    def shape(self, position: int) -> Shape | None: ...

    def element_bytes(self, position: int) -> int: ...

    def integers(self, position: int) -> tuple[int, ...]: ...


def work_of(name: str, inputs: Shapes) -> OperatorWork | None:
    """The work of an operator such as `aten::mm`; None for one without a formula or whose shapes were not recorded."""
    formula = _FORMULAS.get(name)
    work = None if formula is None else formula(inputs)
    return None if work is None or max(work) > _MOST else work


def product_of(name: str, inputs: Shapes) -> Product | None:
    """The shape of an operator that is one multiplication; None for any other, or where shapes were not recorded."""
    if name not in _PRODUCTS:
        return None
    first = _PRODUCTS[name]
    left, right = inputs.shape(first), inputs.shape(first + 1)
    if not left or not right or len(left) not in (2, 3) or len(right) != len(left) or left[-1] != right[-2]:
        return None
    product = Product(prod(left[:-2]), left[-2], right[-1], left[-1], inputs.element_bytes(first))
    return product if min(product) > 0 and max(product) <= _MOST else None


#: Operators that are one multiplication, and where its left side stands.
_PRODUCTS = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1, "aten::_scaled_mm": 0}


def _product(first: int, second: int) -> Callable[[Shapes], OperatorWork | None]:
    """[..., m, k] by [k, n] or [..., k, n]: 2 m k n operations each."""

    def formula(inputs: Shapes) -> OperatorWork | None:
        left, right = inputs.shape(first), inputs.shape(second)
        if not left or not right:
            return None
        n = right[-1] if len(right) > 1 else 1
        if left[-1] != (right[-2] if len(right) > 1 else right[0]):
            return None
        rows = prod(left[:-1])
        if len(right) > 2:  # a batch on both sides, or one that is spread
            rows = max(rows, prod(right[:-2]) * (left[-2] if len(left) > 1 else 1))
        elements = prod(left) + prod(right) + rows * n
        return OperatorWork(2 * rows * left[-1] * n, elements * inputs.element_bytes(first))

    return formula


def _linear(inputs: Shapes) -> OperatorWork | None:
    """[..., k] by the transpose of [n, k]."""
    data, weight = inputs.shape(0), inputs.shape(1)
    if not data or not weight or len(weight) != 2 or data[-1] != weight[1]:
        return None
    rows = prod(data[:-1])
    elements = prod(data) + prod(weight) + rows * weight[0]
    return OperatorWork(2 * rows * weight[1] * weight[0], elements * inputs.element_bytes(0))


def _convolution(stride: int, padding: int, dilation: int) -> Callable[[Shapes], OperatorWork | None]:
    """Input [n, c, ...] by weight [o, c / groups, ...], and where the three lists stand."""

    def formula(inputs: Shapes) -> OperatorWork | None:
        data, weight = inputs.shape(0), inputs.shape(1)
        if not data or not weight or len(data) != len(weight) or len(data) < 3:
            return None
        places = (stride, padding, dilation)
        strides, paddings, dilations = (_each(inputs.integers(place), len(data) - 2) for place in places)
        if not (strides and paddings and dilations) or min(strides) < 1:
            return None
        sizes = zip(data[2:], weight[2:], strides, paddings, dilations, strict=True)
        out = [(extent + 2 * pad - apart * (kernel - 1) - 1) // step + 1 for extent, kernel, step, pad, apart in sizes]
        if min(out) < 1:
            return None
        written = data[0] * weight[0] * prod(out)
        elements = prod(data) + prod(weight) + written
        return OperatorWork(2 * written * prod(weight[1:]), elements * inputs.element_bytes(0))

    return formula


def _each(values: tuple[int, ...], count: int) -> tuple[int, ...]:
    return values * count if len(values) == 1 else values if len(values) == count else ()


def _convolution_backward(inputs: Shapes) -> OperatorWork | None:
    """Gradients of output [n, o, ...], input and weight: the two gradients cost what the forward pass costs, each."""
    gradient, data, weight = (inputs.shape(position) for position in range(3))
    if not gradient or not data or not weight or len(gradient) < 3:
        return None
    elements = 2 * (prod(data) + prod(weight)) + prod(gradient)
    return OperatorWork(2 * 2 * prod(gradient) * prod(weight[1:]), elements * inputs.element_bytes(0))


def _attention(inputs: Shapes) -> OperatorWork | None:
    """Query [..., l, e], key [..., s, e], value [..., s, v]: 2 l s e + 2 l s v operations each, masked or not."""
    query, key, value = (inputs.shape(position) for position in range(3))
    if not query or not key or not value or min(len(query), len(key), len(value)) < 3:
        return None
    operations = 2 * prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
    elements = prod(query) + prod(key) + prod(value) + prod(query[:-1]) * value[-1]
    return OperatorWork(operations, elements * inputs.element_bytes(0))


_FORMULAS: dict[str, Callable[[Shapes], OperatorWork | None]] = {
    "aten::mm": _product(0, 1),
    "aten::bmm": _product(0, 1),
    "aten::matmul": _product(0, 1),
    "aten::addmm": _product(1, 2),
    "aten::baddbmm": _product(1, 2),
    "aten::linear": _linear,
    "aten::conv1d": _convolution(3, 4, 5),
    "aten::conv2d": _convolution(3, 4, 5),
    "aten::conv3d": _convolution(3, 4, 5),
    "aten::convolution": _convolution(3, 4, 5),
    "aten::_convolution": _convolution(3, 4, 5),
    "aten::cudnn_convolution": _convolution(3, 2, 4),
    "aten::mkldnn_convolution": _convolution(4, 3, 5),
    "aten::convolution_backward": _convolution_backward,
    "aten::scaled_dot_product_attention": _attention,
    "aten::_scaled_dot_product_flash_attention": _attention,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten::_scaled_dot_product_efficient_attention": _attention,
    "aten::_scaled_dot_product_cudnn_attention": _attention,
}
