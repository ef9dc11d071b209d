"""`register_plans.py` of bundles of plans, imported as a job does: what its selector gives each rank of each call."""

import runpy
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bundles import write_schedule

from hocket.schedule import Kind
from hocket.translator.bundle import Bundle, write_bundle
from hocket.translator.mscclpp import COLLECTIVE_NAMES, ExecutionPlan, read_plan
from hocket.translator.selection.mscclpp_stock import Element, Request, failure, request_of

#: As much of MSCCL++'s Python package as a job's registration uses: a plan's handle is its file and rank.
PACKAGE = """
class ExecutionPlan:
    def __init__(self, path, rank):
        open(path).close()
        self.handle = path, rank

class Algorithm:
    class Constraint:
        def __init__(self, world_size, n_ranks_per_node):
            self.both = world_size, n_ranks_per_node

    def __init__(self, id, execution_plan, constraint):
        self.name, self._algorithm, self.constraint = id, execution_plan.handle, constraint
"""
BUILDER = """
class AlgorithmCollectionBuilder:
    _instance = None
    def __new__(cls):
        cls._instance = cls._instance or super().__new__(cls)
        return cls._instance
    def set_algorithm_selector(self, selector):
        self.selector = selector
"""
KINDS = {
    Kind.ALL_REDUCE: "ring",
    Kind.ALL_GATHER: "direct",
    Kind.REDUCE_SCATTER: "ring",
    Kind.BROADCAST: "binomial",
}
SIZES = (4, 16, 64, 100, 128, 4096, 25_000_000, 25_000_064, 1 << 20, (1 << 20) + 64)


class Job:
    """A process of a job: MSCCL++'s package stands in, and modules of bundles are imported one after the other."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "mscclpp").mkdir(parents=True)
        (folder / "mscclpp" / "__init__.py").write_text(PACKAGE)
        (folder / "mscclpp" / "ext.py").write_text(BUILDER)
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setenv("RANK", "5")
        monkeypatch.setenv("MSCCLPP_NCCL_SYMMETRIC_MEMORY", "1")

    def register(self, bundle: Path) -> Any:
        return SimpleNamespace(**runpy.run_path(str(bundle / "register_plans.py")))

    def ask(self, request: Request) -> tuple[str, int] | None:
        builder: Any = sys.modules["mscclpp.ext"].AlgorithmCollectionBuilder()
        found: tuple[str, int] | None = builder.selector({}, request)
        return found


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    yield Job(tmp_path / "site", monkeypatch)
    for name in ("mscclpp", "mscclpp.ext"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], tuple[Path, Bundle]]:
    known: dict[Kind, tuple[Path, Bundle]] = {}

    def make(kind: Kind) -> tuple[Path, Bundle]:
        if kind not in known:
            folder = tmp_path_factory.mktemp(str(kind))
            schedule = write_schedule(folder / "s.schedule", kind, KINDS[kind], 64 << 20)
            known[kind] = folder / "b", write_bundle([schedule], folder / "b", "mscclpp").bundle
        return known[kind]

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_all_ranks_of_a_call_take_one_plan_that_runs_it(
    kind: Kind, job: Job, made: Callable[[Kind], tuple[Path, Bundle]]
) -> None:
    folder, bundle = made(kind)
    job.register(folder)
    served = 0
    for size in SIZES:
        for in_place in (True, False):
            asked = [
                request_of(COLLECTIVE_NAMES[kind], 4, 4, rank, size, in_place=in_place, element="bfloat16")
                for rank in range(4)
            ]
            found = [job.ask(request) for request in asked]
            file = bundle.serving(size, 2, in_place)
            if file is None:
                assert found == [None] * 4
                continue
            served += 1
            plan = read_plan(str(found[0] and found[0][0]))
            assert found == [(str(folder / f"algorithms/{plan.name}.json"), rank) for rank in range(4)]
            assert_runs(plan, kind, size, in_place)
    # chunks of a multiple of 16 bytes: a broadcast is of one, the others of 4; in both kinds of call
    unit = 16 if kind is Kind.BROADCAST else 64
    assert served == 2 * sum(size % unit == 0 for size in SIZES)


def assert_runs(plan: ExecutionPlan, kind: Kind, size: int, in_place: bool) -> None:
    """The plan's loader takes the size, and the plan is for such calls (of a broadcast: for both)."""
    assert size % (plan.slots * plan.buffer_alignment) == 0
    assert plan.min_message_size <= size <= plan.max_message_size
    assert plan.in_place == (in_place and kind is not Kind.BROADCAST)


@pytest.mark.parametrize(
    "change",
    [
        {"world_size": 8},
        {"n_ranks_per_node": 2},
        {"collective": "broadcast"},
        {"dtype": Element("uint8")},
        {"output_buffer": (1 << 41) + 4},
    ],
)
def test_other_calls_are_left_to_others(
    change: dict[str, Any], job: Job, made: Callable[[Kind], tuple[Path, Bundle]]
) -> None:
    job.register(made(Kind.ALL_REDUCE)[0])
    request = request_of("allreduce", 4, 4, 1, 4096, in_place=False, element="float32")
    assert job.ask(request) is not None
    assert job.ask(replace(request, **change)) is None


@pytest.mark.parametrize("promise", [None, "0"])
def test_no_call_is_given_a_plan_without_the_promise_of_symmetric_memory(
    promise: str | None,
    job: Job,
    made: Callable[[Kind], tuple[Path, Bundle]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ranks that have seen different allocations would wait for each other."""
    monkeypatch.setenv("RANK", "0")
    if promise is None:
        monkeypatch.delenv("MSCCLPP_NCCL_SYMMETRIC_MEMORY")
    else:
        monkeypatch.setenv("MSCCLPP_NCCL_SYMMETRIC_MEMORY", promise)
    job.register(made(Kind.ALL_REDUCE)[0])
    assert job.ask(request_of("allreduce", 4, 4, 1, 4096, in_place=False, element="float32")) is None
    assert "no call is given a plan: MSCCLPP_NCCL_SYMMETRIC_MEMORY=1 says" in capsys.readouterr().err


def test_a_broadcast_of_another_root_is_left_to_others(job: Job, made: Callable[[Kind], tuple[Path, Bundle]]) -> None:
    job.register(made(Kind.BROADCAST)[0])
    request = request_of("broadcast", 4, 4, 1, 4096, in_place=True, element="float32")
    assert job.ask(request) is not None
    assert job.ask(replace(request, hints={"root": [2]})) is None


def test_several_bundles_serve_one_job(job: Job, made: Callable[[Kind], tuple[Path, Bundle]]) -> None:
    kinds = (Kind.ALL_REDUCE, Kind.ALL_GATHER)
    for kind in kinds:
        job.register(made(kind)[0])
    for kind in kinds:
        found = job.ask(request_of(COLLECTIVE_NAMES[kind], 4, 4, 1, 4096, in_place=False, element="float32"))
        assert found is not None
        assert Path(found[0]).parents[1] == made(kind)[0]


def test_a_tuner_is_given_the_plans_that_may_run(job: Job, made: Callable[[Kind], tuple[Path, Bundle]]) -> None:
    folder, bundle = made(Kind.REDUCE_SCATTER)
    module = job.register(folder)
    request = request_of("reducescatter", 4, 4, 3, 4096, in_place=True, element="float16")
    candidates = module.candidates(request)
    file = bundle.serving(4096, 2, True)
    assert file is not None
    assert [one.name for one in candidates] == [Path(file.path).stem]
    assert (candidates[0]._algorithm, candidates[0].constraint.both) == ((str(folder / file.path), 3), (4, 4))
    assert failure(module.PLANS[0], request) is None
    assert module.candidates(replace(request, message_size=100)) == []


def test_a_plan_that_is_missing_is_told_at_the_import(
    tmp_path: Path, job: Job, made: Callable[[Kind], tuple[Path, Bundle]]
) -> None:
    folder, _ = made(Kind.ALL_REDUCE)
    (tmp_path / "register_plans.py").write_text((folder / "register_plans.py").read_text())
    with pytest.raises(FileNotFoundError, match="all_reduce"):
        job.register(tmp_path)
