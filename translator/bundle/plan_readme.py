"""README.md of a bundle of MSCCL++ plans."""

from collections.abc import Iterator

from hocket.base.units import format_bytes, format_limit, format_time
from hocket.schedule import Kind
from hocket.translator.bundle.manifest import Bundle
from hocket.translator.bundle.plan_choice import ELEMENTS, SYMMETRIC
from hocket.translator.bundle.plan_script import UNTESTED
from hocket.translator.launching import job_command, where
from hocket.translator.mscclpp import COLLECTIVE_NAMES

__all__ = ["plan_readme"]


def plan_readme(bundle: Bundle) -> str:
    """Markdown."""
    return "\n".join([*_plans(bundle), *_running(bundle), *_limits(bundle)]) + "\n"


def _plans(bundle: Bundle) -> Iterator[str]:
    nodes = f", nodes of {bundle.ranks_per_node}" if bundle.ranks_per_node else ""
    yield f"# {bundle.collective} on {bundle.ranks} ranks of {bundle.topology}{nodes}, for MSCCL++ 0.9"
    yield ""
    yield "| plan | calls | from | to | sizes are multiples of | predicted |"
    yield "|---|---|---|---|---|---|"
    for file in bundle.files:
        times = ", ".join(f"{format_time(one.time_ps)} at {format_bytes(one.size_bytes)}" for one in file.predicted)
        window = f"{format_limit(file.min_bytes)} | {format_limit(file.max_bytes)}"
        yield f"| `{file.path}` | {file.call} | {window} | {file.chunks * file.alignment} B | {times} |"
    yield ""
    yield "Sizes count a rank's whole buffer, the larger of input and output; both ends are served. `predicted` is"
    yield "Hocket's simulation of the plan's messages on that network, without its handshakes. `bundle.json` says the"
    yield "same to programs. Every plan was proved right before it was written: values, no race, no deadlock, in call"
    yield "after call."
    yield ""


def _running(bundle: Bundle) -> Iterator[str]:
    yield "## Run"
    yield "```"
    if bundle.collective not in UNTESTED:
        yield "MSCCLPP=/where/it/is ./run.sh                # MSCCL++'s own test of each plan, values checked"
    job = job_command(bundle.ranks, bundle.nodes, bundle.ranks_per_node)
    yield f"{SYMMETRIC}=1 ./run.sh {job}   # PyTorch"
    yield from where(bundle.nodes, bundle.ranks_per_node)
    yield "```"
    yield "MSCCL++ reads no folder of plans: a job registers them itself. Add one line to it, before"
    yield "`init_process_group`:"
    yield ""
    yield "    import register_plans"
    yield ""
    yield f"`{SYMMETRIC}=1` is the job's promise that the buffers of all ranks correspond, and without it no"
    yield "call is given a plan. A rank's executor sets a plan up once for each pair of allocations (base and size, of"
    yield "input and output), together with all ranks. Where one rank has seen its allocations and another has not, the"
    yield "job hangs; where both have seen theirs in other calls, they write to each other's old buffers. PyTorch's"
    yield "allocator keeps no such promise: ranks that hold different amounts of memory cut it differently. So it has"
    yield "to be true that"
    yield "- buffers of collectives are allocated once, by all ranks in one order and of one size, such as"
    yield "  `torch.utils.dlpack.from_dlpack(mscclpp.RawGpuBuffer(size).to_dlpack(data_type=str(torch.float16)))`;"
    yield "- in each call all ranks hand over the same places of the same ones, and none is freed while the job runs."
    yield ""
    yield "It does not register them with MSCCL++'s own selector, which throws for sizes that are no multiple of a"
    yield "plan's chunks, takes all plans for the kind of the first that it asks, and lets ranks of an in-place"
    yield "reduce_scatter differ: it brings a selector of its own, which gives a call a plan where all of the table"
    yield "above is met, on every rank alike, and otherwise leaves it to MSCCL++'s own algorithms and NCCL. For a"
    yield "tuner, `register_plans.candidates(request)` has the plans that may run a call, as `mscclpp.Algorithm`s."
    yield ""
    yield "`run.sh` makes it importable, preloads `libmscclpp_nccl.so` (of the Python package, else of MSCCLPP_HOME or"
    yield "MSCCLPP; `MSCCLPP_NCCL=` where it lies elsewhere), hands it NCCL's own library (`MSCCLPP_NCCL_LIB_PATH`),"
    yield "and exits with 1 where no log line proves that a plan of this folder ran:"
    yield ""
    yield "    Starting execution with plan: NAME, collective: ..."
    yield ""
    yield "Which plan a call runs:"
    yield f"`hocket explain . --runtime mscclpp --collective {bundle.collective} --ranks {bundle.ranks} --size 1MiB`."
    yield ""


def _limits(bundle: Bundle) -> Iterator[str]:
    yield "## What runs MSCCL++'s own algorithms or NCCL, without a word"
    yield f"- communicators of another size than {bundle.ranks}{' or other nodes' if bundle.ranks_per_node else ''};"
    yield "- sizes outside the windows above, or that are no multiple as it says;"
    if len({file.in_place for file in bundle.files}) == 1:
        yield f"- {'out-of-place' if bundle.files[0].in_place else 'in-place'} calls;"
    yield f"- elements other than {', '.join(sorted(ELEMENTS))}, and addresses that are no multiple of 16;"
    if bundle.collective is Kind.BROADCAST:
        yield f"- calls of another root than {bundle.root};"
    if bundle.collective is Kind.ALL_TO_ALL:
        yield "- all_to_all calls of NCCL: the shim has none; the executor runs the plan;"
    yield "- a `libnccl` of PyTorch's own that was loaded first."
    yield ""
    yield "## What MSCCL++ does wrong whatever is selected"
    yield "- Reductions are sums whatever the call asks for (MAX would be summed up), and no selector is told the"
    yield "  operation: keep others away from these sizes."
    yield "- Calls of int8, int64, uint64 or float64 throw before a selector is asked;"
    yield "  `MSCCLPP_FORCE_NCCL_FALLBACK_OPERATION=" + COLLECTIVE_NAMES[bundle.collective] + "` leaves all to NCCL."
    yield "- A buffer must lie at the same offset of its allocation on all ranks, of one size on all: so is the"
    yield "  half of scratch found that packets go to."
    yield "- Packets (protocol LL) carry a number that a process counts over all its communicators: ranks that have run"
    yield "  different numbers of plans in other groups wait for each other for ever."
    yield ""
    yield "## What is not known"
    yield "Nothing here was run on GPUs; the selection was, on MSCCL++'s own code without one. nccl-tests under the"
    yield "preloaded library measures MSCCL++'s own choice, not these plans: it does not register any."
