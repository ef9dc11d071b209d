"""PyTorch's private interfaces that the collector and the executor use: what for, and what is lost without each.

None of them is promised to stay. The code reaches them through this file alone (tests/plugin/torch/test_interfaces.py);
`python -m hocket.bench.torch_interfaces` prints the list with what the installed PyTorch has, and `make test-torch`
tries it on many. One without `without` is needed by all: where it is missing, nothing is collected or served, and an
error says so. Without any other the job is recorded, and the summary names what is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch._C import DispatchKey, DispatchKeySet, FunctionSchema, Future

from hocket.base.errors import HocketError

__all__ = [
    "HEADERS",
    "INTERFACES",
    "DispatchKey",
    "DispatchKeySet",
    "FunctionSchema",
    "Future",
    "Header",
    "Interface",
    "all_groups",
    "current_pass",
    "functional_operations",
    "redispatch_of",
    "schema_of",
    "source_rank",
    "storage_address",
    "take_missed",
    "timeout_of",
]


@dataclass(frozen=True)
class Interface:
    """`name`: how Python reaches it; `purpose`: what for; `without`: what is lost where it is missing, "" where it is
    needed; `since`: the first version that has it, of those from 2.4 on, `until`: the first that has it no more."""

    name: str
    purpose: str
    without: str = ""
    since: str = "2.4"
    until: str = ""

    @cached_property
    def found(self) -> Any | None:
        """What it is before anybody replaced it, None where this PyTorch lacks it."""
        return _at(self.name)

    @property
    def is_expected(self) -> bool:
        """Whether the installed version is one that should have it."""
        version = torch.__version__  # compares as a version
        return bool(version >= self.since and not (self.until and version >= self.until))

    def ask(self) -> Any | None:
        """`found`; what is lost without it is then said in the summary (`take_missed`)."""
        if self.found is None:
            _missed[self.name] = f"PyTorch {torch.__version__} has it not: {self.without}"
        return self.found

    def need(self) -> Any:
        """`found`. Raises HocketError where it is missing."""
        if self.found is None:
            raise HocketError(
                f"PyTorch {torch.__version__} has not {self.name}, needed for this: {self.purpose}; take one of the "
                "versions in docs/collect.md"
            )
        return self.found

    def put(self, value: Any) -> None:
        """Puts another in its place, for all who look there from now on."""
        owner, _, name = self.name.rpartition(".")
        setattr(_at(owner), name, value)


@dataclass(frozen=True)
class Header:
    """A file of PyTorch's C++ that is no part of its stable interface, and what of it is used. The native hook is
    compiled with the user's own; where that fails the Python hook records, and the summary says why."""

    name: str
    purpose: str

    @property
    def is_there(self) -> bool:
        """Whether the installed PyTorch has it."""
        include = Path(torch.__file__).parent / "include"
        return any((folder / self.name).is_file() for folder in (include, include / "torch/csrc/api/include"))


_missed: dict[str, str] = {}


def take_missed() -> dict[str, str]:
    """What was asked for in vain since this was last called, and what is lost without it."""
    taken = dict(_missed)
    _missed.clear()
    return taken


def _at(name: str) -> Any | None:
    """What a dotted name stands for; submodules are imported."""
    first, *others = name.split(".")
    found: Any = import_module(first)
    path = first
    for other in others:
        path = f"{path}.{other}"
        try:
            found = getattr(found, other)
        except (AttributeError, RuntimeError):  # torch.ops raises either
            try:
                found = import_module(path)
            except ImportError:
                return None
    return found


# The dispatcher: where calls are seen.
KEY_BY_NAME = Interface("torch._C._dispatch_key_parse", "the dispatch key at which programs serve")
KEYS_BELOW = Interface("torch._C._dispatch_keyset_full_after", "handing a call on to the backend")
ALL_OPERATIONS = Interface(
    "torch._C._dispatch_get_all_op_names",
    "operations of c10d that are not known",
    "operations that are not known to Hocket are not named",
)
HAS_KERNEL = Interface("torch._C._dispatch_has_kernel_for_dispatch_key", "whether the collector stands above")
HANDLE = Interface("torch.ops.c10d.allreduce_.default._handle.redispatch_boxed", "handing a call on to the backend")
SCHEMA = Interface("torch.ops.c10d.allreduce_.default._schema", "where an operation's arguments stand")
FUNCTIONAL = Interface("torch.ops._c10d_functional.wait_tensor", "waits of functional collectives")

# torch.distributed: groups, works, stores.
GROUPS = Interface("torch.distributed.distributed_c10d._world.pg_map", "all process groups, by creation")
STORE = Interface("torch.distributed.distributed_c10d._get_default_store", "the job's store: clocks, job, reasons")
UNBOX_GROUP = Interface("torch.distributed.ProcessGroup.unbox", "the group that a call is for")
UNBOX_WORK = Interface("torch.distributed.Work.unbox", "the Work that a call returns")
BOX_WORK = Interface("torch.distributed.Work.boxed", "returning a Work of ours from a kernel")
UNBOX_REDUCTION = Interface(
    "torch.distributed.ReduceOp.unbox", "the reduction of a call", "the Python hook records no reductions", "2.15"
)
SOURCE_RANK = Interface(
    "torch.distributed.Work._source_rank", "who sent what was received from anybody", "their senders are not recorded"
)
WORK_OF_FUTURE = Interface(
    "torch._C._distributed_c10d._create_work_from_future", "the Work of a call that a program serves"
)
BACKEND = Interface("torch.distributed.ProcessGroup._get_backend", "the backend that serves a device")
BEGIN_MESSAGES = Interface(
    "torch._C._distributed_c10d.Backend._start_coalescing",
    "messages as one group of NCCL's",
    "programs do not serve tensors on GPUs",
)
END_MESSAGES = Interface(
    "torch._C._distributed_c10d.Backend._end_coalescing",
    "messages as one group of NCCL's",
    "programs do not serve tensors on GPUs",
)
DESCRIBE_GROUP = Interface(
    "torch.distributed.ProcessGroup._set_group_desc",
    "programs' names for Flight Recorder",
    "Flight Recorder does not say which program ran",
)
TIMEOUT = Interface(
    "torch.distributed.ProcessGroupGloo._Options._timeout", "the group's timeout", "programs wait PyTorch's default"
)

# What communicates past the dispatcher.
BACKEND_CLASS = Interface(
    "torch._C._distributed_c10d.Backend",
    "calls on a backend itself",
    "calls on a backend itself are neither recorded nor told of",
)
SYMMETRIC_MEMORY = Interface(
    "torch._C._distributed_c10d._SymmetricMemory",
    "use of symmetric memory",
    "use of symmetric memory is neither recorded nor told of",
    "2.5",
)

# Waits that are not `Work.wait`.
COLLECT_ALL = Interface(
    "torch._C._collect_all", "waits for futures together", "waits by torch.futures.collect_all are not seen"
)
THEN = Interface("torch._C.Future.then", "waits for what is chained to a future", "waits for futures are not seen")
WAIT = Interface("torch._C.Future.wait", "waits for futures", "waits for futures are not seen")
PASS = Interface(
    "torch._C._current_graph_task_id", "which backward pass issues", "waits at the end of backward passes are not seen"
)
AT_END_OF_PASS = Interface(
    "torch.autograd.Variable._execution_engine.queue_callback",
    "when DDP waits",
    "waits at the end of backward passes are not seen",
)
BROADCAST_COALESCED = Interface(
    "torch.distributed._broadcast_coalesced", "DDP's first broadcasts", "waits within them are not seen"
)
VERIFY_PARAMETERS = Interface(
    "torch.distributed._verify_params_across_processes", "DDP's set-up", "waits within it are not seen"
)
REBUILD_BUCKETS = Interface(
    "torch.distributed.Reducer._rebuild_buckets", "DDP's second step", "waits within it are not seen"
)
STORAGE = Interface(
    "torch.UntypedStorage._cdata",
    "functional collectives of nothing, whose results have no address",
    "waits for those are not seen",
)

# Around a recorded job.
REGISTER_DEVICE = Interface(
    "torch._register_device_module",
    "graphs of a plugin's device as soon as there is one",
    "what is captured before the first collective on a plugin's device is taken for called",
)
BEGIN_PROFILE = Interface(
    "torch.autograd.profiler.profile._prepare_trace",
    "the script's use of the one profiler (--ops)",
    "operators are not recorded",
)
LEAVE_OUT = Interface(
    "torch._dynamo.trace_rules.add",
    "keeping torch.compile from Hocket's functions",
    "calls in compiled code may be missed",
)
CONVENTIONS = tuple(
    Interface(f"torch._C._PYBIND11_{name}", "how this PyTorch was built", "the newer convention is taken", until="2.9")
    for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")
)

#: In the order above.
SYMMETRIC_EMPTY = Interface(
    "torch.distributed._symmetric_memory.empty",
    "memory of a GPU that the others write to",
    "HOCKET_ALGORITHMS_ENGINE=device does not serve tensors on GPUs",
    since="2.5",
)
SYMMETRIC_RENDEZVOUS = Interface(
    "torch.distributed._symmetric_memory.rendezvous",
    "memory of a GPU that the others write to",
    "HOCKET_ALGORITHMS_ENGINE=device does not serve tensors on GPUs",
    since="2.5",
)
INTERFACES: tuple[Interface, ...] = (
    *(value for value in list(vars().values()) if isinstance(value, Interface)),
    *CONVENTIONS,
)


def schema_of(operation: Any) -> FunctionSchema:
    """An operation's, such as torch.ops.c10d.barrier.default."""
    SCHEMA.need()
    schema: FunctionSchema = operation._schema
    return schema


def redispatch_of(operation: Any) -> Callable[..., Any]:
    """What calls an operation with keys that are left."""
    HANDLE.need()
    redispatch: Callable[..., Any] = operation._handle.redispatch_boxed
    return redispatch


def functional_operations() -> Any:
    """The namespace of functional collectives."""
    FUNCTIONAL.need()
    return torch.ops._c10d_functional


def all_groups() -> Mapping[Any, Any]:
    """The process groups that there are now, in the order in which they were made."""
    GROUPS.need()
    groups: Mapping[Any, Any] = torch.distributed.distributed_c10d._world.pg_map
    return groups


def storage_address(tensor: torch.Tensor) -> int:
    """Where what would hold a tensor's data lies; 0 where that cannot be told."""
    return tensor.untyped_storage()._cdata if STORAGE.ask() is not None else 0


def source_rank(work: Any) -> int:
    """Who sent what this Work received, in its group. Raises HocketError where that cannot be told."""
    return int(SOURCE_RANK.need()(work))


def timeout_of(backend: Any) -> timedelta | None:
    """None where a backend has none, or does not tell."""
    with suppress(AttributeError, RuntimeError):  # MPI's has no options; another's may have the name alone
        timeout: timedelta = backend.options._timeout
        return timeout
    return None


def current_pass() -> int:
    """The number of the backward pass that this thread is in; -1 outside of any, or where it cannot be told."""
    return _current_pass()


_seen_at_end = PASS.found is not None and AT_END_OF_PASS.found is not None
_current_pass: Callable[[], int] = PASS.found if _seen_at_end else lambda: -1  # type: ignore[assignment]

#: What the C++ of the native hook and of the executor includes.
HEADERS = (
    Header("ATen/core/ivalue.h", "the values of a call"),
    Header("c10/core/Device.h", "the device of a call"),
    Header("c10/core/DispatchKeySet.h", "handing a call on to the backend"),
    Header("c10/core/Event.h", "when streams came to calls"),
    Header("c10/core/StreamGuard.h", "a stream of the collector's that waits for calls (--completion)"),
    Header("c10/core/impl/VirtualGuardImpl.h", "the current stream of a device"),
    Header("torch/csrc/Dtype.h", "names of types"),
    Header("torch/csrc/DynamicTypes.h", "names of types"),
    Header("torch/csrc/autograd/engine.h", "the end of a backward pass"),
    Header("torch/csrc/autograd/graph_task.h", "which backward pass issues"),
    Header("torch/csrc/distributed/c10d/ProcessGroup.hpp", "the group that a call is for"),
    Header("torch/csrc/distributed/c10d/Types.hpp", "the reduction of a call"),
    Header("torch/csrc/distributed/c10d/Work.hpp", "the Work that a call returns"),
    Header("torch/csrc/utils/pybind.h", "Works and groups as Python has them"),
    Header("torch/library.h", "kernels at a dispatch key"),
    Header("torch/version.h", "what the version's events can tell"),
)
