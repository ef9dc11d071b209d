"""Architectures of networks, and what a rank computes and communicates of them under a plan of parallelism.

Per block of p parameters (w of them read in a pass), f forward FLOPs, i input and o output elements per sample, for a
batch b, elements of e bytes and k ranks that share the model, every pass computes f*b/k operations and moves
e*(w/k + b*(i + o/k)) bytes; input and weight gradient cost as much as the forward pass. Shares are rounded up.
"""

from dataclasses import dataclass, replace

from hocket.base.enums import StrEnum, assert_never
from hocket.base.errors import TraceError
from hocket.chakra.trace import CollectiveType
from hocket.workload.network import Layer, Network, Pass, Scope
from hocket.workload.plan import HybridPlan

__all__ = ["Architecture", "Block", "Split", "to_network"]


class Split(StrEnum):
    """How the ranks of a model-parallel group share a block.

    `outputs`: each computes a part of the outputs; all_gather of them forward, all_reduce of the input gradients.
    `sums`: pairs of matrices split by column, then by row (Megatron-LM, arXiv:1909.08053): all_reduce both ways.
    `kept`: each computes and keeps a part of the outputs; all_reduce of the input gradients.
    `tables`: each rank of the job holds whole embedding tables; all_to_all both ways, whatever the plan (DLRM,
    arXiv:1906.00091).
    """

    OUTPUTS = "outputs"
    SUMS = "sums"
    KEPT = "kept"
    TABLES = "tables"


@dataclass(frozen=True)
class Block:
    """A part of a network. `flops` (a multiply-add is two), `inputs` and `outputs` are those of one sample, forward.

    `read` is the number of parameters that a pass reads, where not all. `needed_by` is `Layer`'s.
    """

    name: str
    parameters: int
    flops: int
    inputs: int
    outputs: int
    split: Split = Split.OUTPUTS
    read: int | None = None
    needed_by: str = ""


@dataclass(frozen=True)
class Architecture:
    """A published network.

    `batch` is the usual number of samples per replica and step, `sample` says what one is. `heads` must be divisible by
    the number of model-parallel ranks (1: any number). `update_bytes` is what the optimizer moves for a parameter.
    """

    title: str
    source: str
    blocks: tuple[Block, ...]
    batch: int
    sample: str
    update_bytes: int
    heads: int = 0

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return sum(block.parameters for block in self.blocks)

    @property
    def flops(self) -> int:
        """Floating-point operations of the forward pass of one sample."""
        return sum(block.flops for block in self.blocks)


@dataclass(frozen=True)
class _Share:
    """What `to_network` needs to know of a rank."""

    plan: HybridPlan
    batch: int
    element_bytes: int
    gradient_bytes: int
    update_bytes: int

    def of(self, amount: int) -> int:
        """A rank's part, the largest where it is not even."""
        return -(-amount // self.plan.model_size)

    def communicating(self, work: Pass, kind: CollectiveType, num_bytes: int, scope: Scope) -> Pass:
        """The pass with a collective behind it, where the rank has somebody to talk to."""
        if self.plan.size(scope) == 1:
            return work
        return replace(work, kind=kind, comm_bytes=num_bytes, scope=scope)


def to_network(
    architecture: Architecture,
    plan: HybridPlan,
    batch: int | None = None,
    element_bytes: int = 2,
    gradient_bytes: int = 4,
) -> Network:
    """What one rank does: weights and activations of `element_bytes`, weight gradients communicated as
    `gradient_bytes`, `batch` samples per replica.

    Raises TraceError when the plan cannot share the network.
    """
    tables = any(block.split is Split.TABLES for block in architecture.blocks)
    if tables and plan.model_size > 1:
        raise TraceError(f"{architecture.title} spreads its tables over all ranks; its plan is data")
    if architecture.heads % plan.model_size:
        raise TraceError(
            f"{architecture.title}: {architecture.heads} attention heads cannot be shared by {plan.model_size} ranks"
        )
    batch = architecture.batch if batch is None else batch
    share = _Share(plan, batch, element_bytes, gradient_bytes, architecture.update_bytes)
    layers = [_layer(block, share) for block in architecture.blocks]
    if not layers[0].needed_by:
        layers[0] = replace(layers[0], input_gradient=Pass())  # the samples need no gradient
    return Network(tuple(layers), _notes(architecture, share, tables))


def _layer(block: Block, share: _Share) -> Layer:
    element = share.element_bytes
    inputs, outputs = share.batch * block.inputs, share.batch * share.of(block.outputs)
    read = share.of(block.parameters if block.read is None else block.read)
    work = Pass(None, share.of(block.flops * share.batch), element * (read + inputs + outputs))
    update = Pass(None, 0, share.update_bytes * share.of(block.parameters))
    forward, weight_gradient = work, work
    match block.split:
        case Split.TABLES:
            exchange = Pass(kind=CollectiveType.ALL_TO_ALL, comm_bytes=element * outputs)
            return Layer(
                block.name,
                forward=replace(exchange, memory_bytes=work.memory_bytes),
                input_gradient=exchange,
                update=Pass(None, 0, share.update_bytes * outputs),  # of the rows that were looked up
                needed_by=block.needed_by,
            )
        case Split.OUTPUTS:
            forward = share.communicating(work, CollectiveType.ALL_GATHER, element * outputs, Scope.MODEL)
        case Split.SUMS:
            num_bytes = element * share.batch * block.outputs
            forward = share.communicating(work, CollectiveType.ALL_REDUCE, num_bytes, Scope.MODEL)
        case Split.KEPT:
            pass
        case _:
            assert_never(block.split)
    input_gradient = share.communicating(work, CollectiveType.ALL_REDUCE, element * inputs, Scope.MODEL)
    if block.parameters:
        num_bytes = share.gradient_bytes * share.of(block.parameters)
        weight_gradient = share.communicating(work, CollectiveType.ALL_REDUCE, num_bytes, Scope.DATA)
    return Layer(block.name, forward, input_gradient, weight_gradient, update)


def _notes(architecture: Architecture, share: _Share, tables: bool) -> tuple[str, ...]:
    notes = [
        f"{architecture.title}: {architecture.parameters} parameters ({architecture.source})",
        f"a replica takes {share.batch} samples per step, each {architecture.sample}",
        f"weights and activations of {share.element_bytes} bytes, weight gradients communicated as "
        f"{share.gradient_bytes}; the optimizer moves {share.update_bytes} bytes a parameter",
    ]
    if tables:
        notes.append("embedding tables are spread evenly over all ranks; a sample looks up one row of each")
    return tuple(notes)
