"""PyTorch's `c10d::*` operations: the collective that each is, and what its arguments are."""

from dataclasses import dataclass
from functools import cached_property

__all__ = ["OPERATIONS", "DispatcherOperation"]


@dataclass(frozen=True)
class DispatcherOperation:
    """A dispatcher operation: collective kind, the names of its arguments in order, and which of them hold input and
    output tensors.

    `in_parts`: the input is a list of a tensor for each rank, which may differ in size.
    """

    kind: str
    arguments: str
    input: str | None = None
    output: str | None = None
    in_parts: bool = False

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each argument stands."""
        return {name: position for position, name in enumerate(self.arguments.split())}


# Arguments as in torch/csrc/distributed/c10d/Ops.cpp of PyTorch 2.0 to 2.15; older schemas may end before async_op.
OPERATIONS = {
    "allreduce_": DispatcherOperation(
        "all_reduce", "tensors process_group reduce_op sparse_indices async_op", "tensors", "tensors"
    ),
    "allreduce_coalesced_": DispatcherOperation(
        "all_reduce", "tensors process_group reduce_op async_op", "tensors", "tensors"
    ),
    "broadcast_": DispatcherOperation(
        "broadcast", "tensors process_group root_rank root_tensor async_op", "tensors", "tensors"
    ),
    "reduce_": DispatcherOperation(
        "reduce", "tensors process_group reduce_op root_rank root_tensor async_op", "tensors", "tensors"
    ),
    "allgather_": DispatcherOperation(
        "all_gather", "output_tensors input_tensors process_group async_op", "input_tensors", "output_tensors"
    ),
    "_allgather_base_": DispatcherOperation(
        "all_gather", "output_tensor input_tensor process_group async_op", "input_tensor", "output_tensor"
    ),
    "allgather_coalesced_": DispatcherOperation(
        "all_gather", "output_lists input_list process_group async_op", "input_list", "output_lists"
    ),
    "allgather_into_tensor_coalesced_": DispatcherOperation(
        "all_gather", "outputs inputs process_group async_op", "inputs", "outputs"
    ),
    "reduce_scatter_": DispatcherOperation(
        "reduce_scatter",
        "output_tensors input_tensors process_group reduce_op async_op",
        "input_tensors",
        "output_tensors",
        in_parts=True,
    ),
    "_reduce_scatter_base_": DispatcherOperation(
        "reduce_scatter", "output_tensor input_tensor process_group reduce_op async_op", "input_tensor", "output_tensor"
    ),
    "reduce_scatter_tensor_coalesced_": DispatcherOperation(
        "reduce_scatter", "outputs inputs process_group reduce_op async_op", "inputs", "outputs"
    ),
    "scatter_": DispatcherOperation(
        "scatter",
        "output_tensors input_tensors process_group root_rank async_op",
        "input_tensors",
        "output_tensors",
        in_parts=True,
    ),
    "gather_": DispatcherOperation(
        "gather", "output_tensors input_tensors process_group root_rank async_op", "input_tensors", "output_tensors"
    ),
    "gather_into_tensor_": DispatcherOperation(
        "gather", "output_tensor input_tensor process_group root_rank async_op", "input_tensor", "output_tensor"
    ),
    "alltoall_": DispatcherOperation(
        "all_to_all",
        "output_tensors input_tensors process_group async_op",
        "input_tensors",
        "output_tensors",
        in_parts=True,
    ),
    "alltoall_base_": DispatcherOperation(
        "all_to_all", "output input process_group output_split_sizes input_split_sizes async_op", "input", "output"
    ),
    "barrier": DispatcherOperation("barrier", "tensor process_group device_ids async_op"),
    "monitored_barrier_": DispatcherOperation("barrier", "tensor process_group device_ids timeout wait_all_ranks"),
    "send": DispatcherOperation("send", "tensors process_group dst tag", "tensors"),
    "recv_": DispatcherOperation("recv", "tensors process_group src tag", output="tensors"),
    "recv_any_source_": DispatcherOperation("recv", "tensors process_group tag", output="tensors"),
}
