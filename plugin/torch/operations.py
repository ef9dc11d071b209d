"""What each `c10d::*` operation is: its kind, and which arguments are its input and output."""

from typing import NamedTuple

__all__ = ["LOCAL", "OPERATIONS", "PEER_TO_PEER", "Operation"]

PEER_TO_PEER = ("send", "recv")

# Operations of `c10d` that bring nothing from one rank to another.
LOCAL = ("check_for_nan",)


class Operation(NamedTuple):
    """A dispatcher operation: collective kind and the names of its arguments that hold input and output tensors.

    `in_parts`: the input is a list of a tensor for each rank, which may differ in size.
    """

    kind: str
    input: str | None = None
    output: str | None = None
    in_parts: bool = False


OPERATIONS = {
    "allreduce_": Operation("all_reduce", "tensors", "tensors"),
    "allreduce_coalesced_": Operation("all_reduce", "tensors", "tensors"),
    "broadcast_": Operation("broadcast", "tensors", "tensors"),
    "reduce_": Operation("reduce", "tensors", "tensors"),
    "allgather_": Operation("all_gather", "input_tensors", "output_tensors"),
    "_allgather_base_": Operation("all_gather", "input_tensor", "output_tensor"),
    "allgather_coalesced_": Operation("all_gather", "input_list", "output_lists"),
    "allgather_into_tensor_coalesced_": Operation("all_gather", "inputs", "outputs"),
    "reduce_scatter_": Operation("reduce_scatter", "input_tensors", "output_tensors", in_parts=True),
    "_reduce_scatter_base_": Operation("reduce_scatter", "input_tensor", "output_tensor"),
    "reduce_scatter_tensor_coalesced_": Operation("reduce_scatter", "inputs", "outputs"),
    "scatter_": Operation("scatter", "input_tensors", "output_tensors", in_parts=True),
    "gather_": Operation("gather", "input_tensors", "output_tensors"),
    "gather_into_tensor_": Operation("gather", "input_tensor", "output_tensor"),
    "alltoall_": Operation("all_to_all", "input_tensors", "output_tensors", in_parts=True),
    "alltoall_base_": Operation("all_to_all", "input", "output"),
    "barrier": Operation("barrier"),
    "monitored_barrier_": Operation("barrier"),
    "send": Operation("send", "tensors"),
    "recv_": Operation("recv", output="tensors"),
    "recv_any_source_": Operation("recv", output="tensors"),
}
