"""Which plans MSCCL++ runs by its own selector and by that of register_plans.py, on its own code and as modelled.

Run: python -m hocket.bench.mscclpp_selection [--source DIR] [--json DIR] [--cuda DIR]

Bundles of four collectives on 8 ranks, of puts and over NVLS, calls of sizes that are multiples of their chunks and of
sizes that are not, in place and out of place, of elements that plans can be run with and of others. Counted are the
calls of which all ranks run the plan for them (`right`), none (`others`: MSCCL++'s own algorithms, NCCL), those that
throw or fail, that run a plan for the other kind of call, and whose ranks take different plans. MSCCL++'s selector
takes all plans for the kind of the one that a process asked first: a row for either.

With DIR, a checkout of microsoft/mscclpp 0.9, its algorithm collection, selector and plan loader are built by g++ with
CUDA's headers (`pip install nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl`) and nlohmann's json
(`nlohmann/json.hpp` below --json) and asked the same; `as modelled`: how many of their answers are those of the model.
Exit 1 where one is not, or where a call of register_plans.py goes wrong.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.scratch import hand_over, scratch_folder
from hocket.base.text_table import text_table
from hocket.bench.command_line import command_line
from hocket.nccl.stock.cuda_headers import find_cuda_headers
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator.bundle import Source, write_bundle
from hocket.translator.bundle.plan_choice import PlanCalls, choose
from hocket.translator.bundle.plan_registration import plan_calls
from hocket.translator.mscclpp import COLLECTIVE_NAMES
from hocket.translator.selection.mscclpp_stock import Allocation, Request, StockSelector, failure, request_of

__all__ = ["Call", "Driver", "bundles", "calls", "fates", "modelled", "own"]

RANKS = 8
_ALGORITHMS = {
    Kind.ALL_REDUCE: "ring",
    Kind.ALL_GATHER: "direct",
    Kind.REDUCE_SCATTER: "ring",
    Kind.BROADCAST: "binomial",
}
_SWITCHES = f"switch:{RANKS},bandwidth=100GB/s,latency=500ns,in_network=1"
_SIZES = (4, 16, 100, 128, 4096, 25_000_000, 25_000_064, 1 << 20, 1 << 26, 1 << 27)
_BUILT = (
    *("core/algorithm.cc", "core/executor/execution_plan.cc", "ext/nccl/algorithm_selector.cc"),
    *("core/env.cpp", "core/errors.cc", "core/logger.cc"),
)
_DRIVER = Path(__file__).resolve().with_name("witness") / "mscclpp_selection.cpp"
_NO_PLAN = "-"


@dataclass(frozen=True)
class Call:
    """A call, as each of its ranks asks for it."""

    collective: str
    size_bytes: int
    in_place: bool
    element: str

    def request(self, rank: int) -> Request:
        shape = self.collective, RANKS, RANKS, rank
        return request_of(*shape, self.size_bytes, in_place=self.in_place, element=self.element)


def bundles(folder: Path, *, switches: bool = False) -> dict[str, list[PlanCalls]]:
    """The plans of a bundle of each collective, written below a folder, all in order; their files by absolute paths.
    `switches`: plans over NVLS."""
    topology = load(_SWITCHES if switches else f"ring:{RANKS},bandwidth=50GB/s,latency=500ns")
    found: dict[str, list[PlanCalls]] = {}
    for kind, algorithm in _ALGORITHMS.items():
        algorithm = "switch_tree" if switches else algorithm
        collective = Collective(kind, RANKS, 1 << 26)
        source = Source(folder / f"{kind}.schedule", collective, build(algorithm, collective, topology))
        bundle = write_bundle([source], folder / kind, "mscclpp", ranks_per_node=RANKS).bundle
        served = {plan.file: plan for plan in plan_calls(bundle)}
        whole = [served.get(file.path) for file in bundle.files]
        plans = [plan for plan in whole if plan is not None]
        found[COLLECTIVE_NAMES[kind]] = [plan._replace(file=str(folder / kind / plan.file)) for plan in plans]
    return found


def calls(collective: str) -> Iterator[Call]:
    for size in _SIZES:
        for in_place in (True, False):
            if collective not in ("allgather", "reducescatter") or size % RANKS == 0:
                yield from (Call(collective, size, in_place, element) for element in ("float16", "uint8"))


def modelled(plans: Sequence[PlanCalls], first: bool, call: Call, rank: int) -> str:
    """What MSCCL++ does by its model: `plan NAME`, `throws`, `fails` or `-`."""
    request = call.request(rank)
    plan = StockSelector(plans, first).select(request)
    if plan is None:
        return _NO_PLAN
    wrong = failure(plan, request)
    return f"plan {Path(plan.file).stem}" if wrong is None else wrong.partition(":")[0]


def own(plans: Sequence[PlanCalls], call: Call, rank: int) -> str:
    """What becomes of the call by register_plans.py's selector."""
    plan = choose(plans, call.request(rank))
    if plan is None:
        return _NO_PLAN
    wrong = failure(plan, call.request(rank))
    return f"plan {Path(plan.file).stem}" if wrong is None else wrong.partition(":")[0]


def fates(plans: Sequence[PlanCalls], answers: Mapping[Call, Sequence[str]]) -> Counter[str]:
    """How many calls end in which way, of what each rank's process answered."""
    kinds = {f"plan {Path(plan.file).stem}": plan.in_place for plan in plans}
    return Counter(_fate(kinds, call, of_ranks) for call, of_ranks in answers.items())


def _fate(kinds: Mapping[str, bool | None], call: Call, answers: Sequence[str]) -> str:
    if len(set(answers)) > 1:
        return "ranks differ"
    answer = answers[0]
    if answer == _NO_PLAN:
        return "others"
    if answer in kinds:
        return "right" if kinds[answer] in (None, call.in_place) else "other kind"
    return "throw or fail"


class Driver:
    """MSCCL++'s own code, built into a folder. Raises HocketError where it cannot be."""

    def __init__(self, source: Path, json: Path, cuda: Path | None, folder: Path) -> None:
        shim = _text(source, "src/ext/nccl/nccl.cc")
        selector = re.search(r"^static std::shared_ptr<mscclpp::Algorithm> algoSelector\(.*?^}\n", shim, re.S | re.M)
        if selector is None:
            raise HocketError(f"{source}/src/ext/nccl/nccl.cc has no algoSelector: give a checkout of 0.9")
        hand_over(folder / "stock_selector.inc", selector[0])
        executor = _text(source, "src/core/executor/executor.cc")
        key = re.search(r"^struct ExecutionContextKey \{.*?^\};\n", executor, re.S | re.M)
        of_call = re.search(r"^    ExecutionContextKey key = .*?^    \}\n", executor, re.S | re.M)
        if key is None or of_call is None:
            raise HocketError(f"{source}/src/core/executor/executor.cc has no ExecutionContextKey: give one of 0.9")
        hand_over(folder / "context_key.inc", key[0])
        hand_over(folder / "context_of_call.inc", re.sub(r"    DeviceExecutionPlanKey .*\n", "", of_call[0]))
        (folder / "mscclpp").mkdir()
        version = re.sub("@[A-Z_]+@", "0", _text(source, "include/mscclpp/version.hpp.in"))
        hand_over(folder / "mscclpp" / "version.hpp", version)
        choices = _text(source, "src/ext/nccl/algorithm_selector.cc")
        self._natives = sorted(set(re.findall(r'algoMap\.at\("(\w+)"\)', choices)))
        self._program = folder / "selection"
        below = ("include", "src/core/include", "src/ext/collectives/include", "src/ext/nccl")
        includes = [folder, *(source / name for name in below), *find_cuda_headers(cuda).folders, json]
        sources = [_DRIVER, *(source / "src" / name for name in _BUILT)]
        flags = ["-std=c++17", "-O0", "-w", "-DMSCCLPP_USE_CUDA", *(f"-I{path}" for path in includes)]
        done = processes.run(["g++", *flags, *sources, "-o", self._program], capture_output=True, text=True)
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
            raise HocketError(f"{source} does not compile: {first}")

    def stock(
        self, plans: Sequence[PlanCalls], first: bool, rank: int, asked: Sequence[Call]
    ) -> tuple[list[PlanCalls], list[str]]:
        """The plans in the order in which MSCCL++ finds them, and what its own selector answers in a process that asked
        one of the kind `first` before the others were registered."""
        collective = plans[0].collective
        before = [plan for plan in plans if bool(plan.in_place) == first]
        after = [plan for plan in plans if bool(plan.in_place) != first]
        ask = self._ask(asked[0], rank, _NO_PLAN)
        lines = [*self._plans("plan", before), ask, *self._plans("plan", after), f"order {collective}"]
        lines += [self._ask(call, rank, _NO_PLAN) for call in asked]
        _, order, *answers = self._answers(collective, rank, lines)
        by_name = {Path(plan.file).stem: plan for plan in plans}
        return [by_name[name] for name in order.split()], [_short(answer) for answer in answers]

    def own(self, plans: Sequence[PlanCalls], rank: int, asked: Sequence[Call]) -> list[str]:
        """What MSCCL++ does when the call's selector is register_plans.py's, and its own the fall-back."""
        chosen = [choose(plans, call.request(rank)) for call in asked]
        given = [_NO_PLAN if plan is None else Path(plan.file).stem for plan in chosen]
        lines = self._plans("held", plans)
        lines += [self._ask(call, rank, plan) for call, plan in zip(asked, given, strict=True)]
        return [_short(answer) for answer in self._answers(plans[0].collective, rank, lines)]

    def set_ups(self, plan: PlanCalls, rank: int, buffers: Sequence[tuple[Allocation, Allocation]]) -> list[bool]:
        """Whether each call, with input and output in such allocations, sets the plan up, as all ranks then must."""
        name = Path(plan.file).stem
        lines = self._plans("held", [plan])
        lines += [f"context {name} {' '.join(map(str, (*source, *target)))}" for source, target in buffers]
        return [answer == "sets up" for answer in self._answers(plan.collective, rank, lines)]

    def _answers(self, collective: str, rank: int, lines: Sequence[str]) -> list[str]:
        natives = [f"native {collective} {name}" for name in self._natives]
        text = "\n".join([*natives, *lines]) + "\n"
        done = processes.run([self._program, str(rank)], input=text, capture_output=True, text=True, check=True)
        return [str(line) for line in done.stdout.splitlines()]

    @staticmethod
    def _plans(verb: str, plans: Sequence[PlanCalls]) -> list[str]:
        shape = f"{RANKS} {RANKS}"
        return [f"{verb} {Path(plan.file).stem} {plan.collective} {shape} {plan.file}" for plan in plans]

    @staticmethod
    def _ask(call: Call, rank: int, given: str) -> str:
        request, share = call.request(rank), call.size_bytes // RANKS
        source = share if call.collective == "allgather" else call.size_bytes
        target = share if call.collective == "reducescatter" else call.size_bytes
        words = (call.collective, RANKS, RANKS, request.input_buffer, request.output_buffer, request.message_size)
        return " ".join(map(str, ("call", *words, source, target, call.element, given)))


def _text(source: Path, name: str) -> str:
    try:
        return (source / name).read_text(encoding="utf-8")
    except OSError as error:
        raise HocketError(f"{source / name}: {error.strerror}; give a checkout of microsoft/mscclpp 0.9") from error


def _short(answer: str) -> str:
    if answer == "nccl" or answer.startswith("native "):
        return _NO_PLAN
    if answer.startswith("throws"):
        return "throws"
    return "fails" if answer.endswith(" fails") else answer


_FATES = ("right", "others", "throw or fail", "other kind", "ranks differ")


def main() -> int:
    parser = command_line()
    parser.add_argument("--source", type=Path, help="a checkout of microsoft/mscclpp 0.9")
    parser.add_argument("--json", type=Path, default=Path("/usr/include"), help="where nlohmann/json.hpp is")
    parser.add_argument("--cuda", type=Path, help="where CUDA's headers are")
    chosen = parser.parse_args()
    rows, wrong = [], 0
    with scratch_folder("mscclpp") as folder:
        made = folder / "built"
        made.mkdir()
        driver = Driver(chosen.source, chosen.json, chosen.cuda, made) if chosen.source else None
        over_switches = bundles(folder / "nvls", switches=True)
        asked_of = {**bundles(folder), **{f"{name}, NVLS": plans for name, plans in over_switches.items()}}
        for title, plans in asked_of.items():
            collective = plans[0].collective
            asked = list(calls(collective))
            kinds = sorted({bool(plan.in_place) for plan in plans}, reverse=True)
            for first in (*kinds, None):
                answers, same = _answered(driver, plans, first, asked)
                found = fates(plans, answers)
                who = "register_plans.py" if first is None else f"MSCCL++'s, {'in' if first else 'out of'} place first"
                as_modelled = f"{same} of {len(asked) * RANKS}" if driver else "-"
                rows.append((title, who, len(asked), *(found[fate] for fate in _FATES), as_modelled))
                wrong += driver is not None and same < len(asked) * RANKS
                wrong += first is None and found["right"] + found["others"] < len(asked)
    print(*text_table(("collective", "selector", "calls", *_FATES, "as modelled"), rows, align="<<"), sep="\n")
    return int(wrong > 0)


def _answered(
    driver: Driver | None, plans: Sequence[PlanCalls], first: bool | None, asked: Sequence[Call]
) -> tuple[dict[Call, list[str]], int]:
    """What each rank answers to each call (`first` None: with register_plans.py), by MSCCL++'s code or the model; and
    how many answers are the model's."""
    of_ranks, same = [], 0
    for rank in range(RANKS):
        order, found = list(plans), None
        if driver is not None and first is not None:
            order, found = driver.stock(plans, first, rank, asked)
        elif driver is not None:
            found = driver.own(plans, rank, asked)
        model = [own(plans, one, rank) if first is None else modelled(order, first, one, rank) for one in asked]
        of_ranks.append(model if found is None else found)
        same += sum(one == other for one, other in zip(of_ranks[-1], model, strict=True))
    return dict(zip(asked, map(list, zip(*of_ranks, strict=True)), strict=True)), same


if __name__ == "__main__":
    sys.exit(main())
