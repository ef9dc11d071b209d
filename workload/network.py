"""A layered network as one rank trains it: what each pass of each layer computes and communicates."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hocket.base.enums import StrEnum
from hocket.base.errors import TraceError
from hocket.chakra.trace import CollectiveType

__all__ = ["Layer", "Network", "Pass", "Scope"]


class Scope(StrEnum):
    """Among which ranks a pass communicates: everybody, its model-parallel group, or its data-parallel group."""

    ALL = "all"
    MODEL = "model"
    DATA = "data"


@dataclass(frozen=True)
class Pass:
    """Computation, then a collective. Times are nanoseconds, sizes bytes, all of one rank and one step.

    Computation lasts `duration_ns`; where that is None it is `num_ops` operations that move `memory_bytes`, which an
    accelerator has to price. `comm_bytes` is the input of the collective `kind`, as traces count.
    """

    duration_ns: int | None = None
    num_ops: int = 0
    memory_bytes: int = 0
    kind: CollectiveType | None = None
    comm_bytes: int = 0
    scope: Scope = Scope.ALL

    @property
    def computes(self) -> bool:
        return bool(self.duration_ns if self.duration_ns is not None else self.num_ops or self.memory_bytes)


@dataclass(frozen=True)
class Layer:
    """Three passes and the update of the weights (computation only), which waits for the weight gradient.

    The next layer waits for what the forward pass communicates, or the layer called `needed_by`, if given: then the
    input gradient's communication starts behind that layer's input gradient, and this layer's backward pass waits for
    it (embeddings whose exchange overlaps other layers).
    """

    name: str
    forward: Pass = field(default_factory=Pass)
    input_gradient: Pass = field(default_factory=Pass)
    weight_gradient: Pass = field(default_factory=Pass)
    update: Pass = field(default_factory=Pass)
    needed_by: str = ""

    @property
    def passes(self) -> tuple[Pass, Pass, Pass, Pass]:
        return self.forward, self.input_gradient, self.weight_gradient, self.update


@dataclass(frozen=True)
class Network:
    """Layers in forward order. Raises TraceError for no layers, equal names, and a `needed_by` that is no later layer.

    `notes` say what was assumed to get these numbers.
    """

    layers: tuple[Layer, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.layers:
            raise TraceError("a network needs a layer")
        seen: set[str] = set()
        for layer in reversed(self.layers):
            if layer.name in seen:
                raise TraceError(f"layer '{layer.name}' occurs twice; names must differ")
            if layer.needed_by and layer.needed_by not in seen:
                raise TraceError(f"layer '{layer.name}' is needed_by '{layer.needed_by}', which is no later layer")
            seen.add(layer.name)

    @property
    def input_gradient_first(self) -> bool:
        """Whether back-propagation computes the input gradient of a layer before its weight gradient.

        What the layer before waits for goes first: input gradients that are communicated (model parallelism), and
        otherwise weight gradients, whose communication then overlaps more. ASTRA-sim 1.0 has the same two orders.
        """
        return any(layer.input_gradient.kind is not None and not layer.needed_by for layer in self.layers)

    def communication(self) -> dict[tuple[str, Scope], tuple[int, int]]:
        """For each collective and scope: how many a step has, and the bytes of all of them."""
        sums: dict[tuple[str, Scope], tuple[int, int]] = {}
        for step in self.passes():
            if step.kind is not None:
                key = (step.kind.name.lower(), step.scope)
                count, num_bytes = sums.get(key, (0, 0))
                sums[key] = (count + 1, num_bytes + step.comm_bytes)
        return sums

    def passes(self) -> Iterator[Pass]:
        """Every pass of every layer."""
        for layer in self.layers:
            yield from layer.passes
