"""The matrix multiplications that a profile measured."""

from dataclasses import dataclass
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.chakra.importers.pytorch.kineto import read_kineto
from hocket.chakra.importers.pytorch.work import Product

__all__ = ["MeasuredProducts", "measured_products"]


@dataclass(frozen=True)
class MeasuredProducts:
    """`products` by shape, with the ns that each took: of the longest kernel of an operator, on a CPU of the operator.
    `gpu`: what the driver calls it, "" where the profile does not say."""

    gpu: str
    products: tuple[tuple[Product, int], ...]


def measured_products(path: Path | str) -> MeasuredProducts:
    """Those of a Kineto profile (chrome trace JSON, plain or gzip).

    Raises FormatError, naming the file, for another, and for a profile without shapes of multiplications.
    """
    kineto = read_kineto(Path(path))
    longest: dict[int, int] = {}
    for event in kineto.device:
        if event.kind == "kernel":
            longest[event.external] = max(longest.get(event.external, 0), event.end - event.start)
    found = [
        (operation.product, longest.get(operation.external, 0) if kineto.device else operation.end - operation.start)
        for operation in kineto.operations
        if operation.product is not None
    ]
    measured = tuple((product, ns) for product, ns in found if ns > 0)
    if not measured:
        raise FormatError(
            f"{path}: no matrix multiplication has both a shape and a time: profile with record_shapes=True"
        )
    return MeasuredProducts(kineto.gpu, measured)
