"""The fluid optimum of a collective as a linear program, and a bound that its solution proves."""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket._core.schedule import Holding
from hocket.base.errors import HocketError, ScheduleError
from hocket.base.extras import install_command
from hocket.schedule.bounds import lower_bound
from hocket.schedule.collective import Collective
from hocket.schedule.flow_bounds import Traffic
from hocket.schedule.schedule import Bound
from hocket.topology import Topology

__all__ = ["certificate"]

_PRICE_UNIT = 2**29


def certificate(
    collective: Collective, topology: Topology, blocking: bool = False, group: NDArray[np.int32] | None = None
) -> Bound:
    """`lower_bound`, or the larger optimum of the multicommodity flow of the collective's chunks, one origin and one
    destination each (all_to_all, gather, scatter): min T such that no link is held for longer.

    HiGHS solves the flow with a commodity for each source (as in arXiv 2309.13541), sources x links columns: seconds to
    100 ranks. Its floating-point solution proves nothing; its dual prices, rounded to integers, do, whatever they are
    (`hocket.schedule.bounds`, **prices**). Raises HocketError where highspy is not installed or finds no optimum, and
    ScheduleError for collectives that copy or sum up.
    """
    bound = lower_bound(collective, topology, blocking=blocking, group=group)
    ranks = np.arange(collective.num_ranks, dtype=np.int32) if group is None else group
    if (collective.origin < 0).any() or (collective.destination < 0).any():
        raise ScheduleError(f"{collective.describe()} is no flow: its chunks have several origins or destinations")
    traffic = Traffic.of(collective, ranks)
    if traffic is None:
        return bound
    several = Holding.SHARED if topology.has_trunks else Holding.WIRE
    holding = Holding.BLOCKING if blocking else several
    prices = np.rint(_capacity_prices(traffic, topology, holding) * _PRICE_UNIT).astype(np.int64)
    time_ps = traffic.bound(topology, holding, np.clip(prices, 0, _PRICE_UNIT), bound.time_ps)
    return Bound(time_ps, "linear program of the traffic") if time_ps > bound.time_ps else bound


def _capacity_prices(traffic: Traffic, topology: Topology, holding: Holding) -> NDArray[np.float64]:
    """Dual values of the links' capacities, that of the dearest scaled to 1."""
    solver = _solver()
    sources, number = np.unique(traffic.src, return_inverse=True)
    links, nodes, columns = topology.num_links, topology.num_nodes, len(sources) * topology.num_links + 1
    holds = traffic.holds(topology, holding)
    hold = holds / holds.max()
    # A row a source and node: what comes in less what goes out; then a row per link: its hold less the time.
    flow = np.arange(len(sources) * links)
    source, link = flow // links, flow % links
    capacity = len(sources) * nodes
    into, out_of = source * nodes + topology.dst[link], source * nodes + topology.src[link]
    rows = np.concatenate([into, out_of, capacity + link, capacity + np.arange(links)])
    ends = np.concatenate([flow, flow, flow, np.full(links, columns - 1)])
    values = np.concatenate([np.ones(len(flow)), -np.ones(len(flow)), hold[link], -np.ones(links)])
    wanted = np.zeros(capacity + links)
    chunks = traffic.bytes / traffic.largest_chunk
    np.add.at(wanted, number * nodes + traffic.dst, chunks)
    np.subtract.at(wanted, number * nodes + traffic.src, chunks)
    lower = wanted.copy()
    lower[capacity:] = -solver.kHighsInf

    program = solver.HighsLp()
    program.num_col_, program.num_row_ = columns, len(wanted)
    cost = np.zeros(columns)
    cost[-1] = 1
    program.col_cost_, program.col_lower_ = cost, np.zeros(columns)
    program.col_upper_ = np.full(columns, solver.kHighsInf)
    program.row_lower_, program.row_upper_ = lower, wanted
    order = np.argsort(rows, kind="stable")
    program.a_matrix_.format_ = solver.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(wanted)))])
    program.a_matrix_.index_, program.a_matrix_.value_ = ends[order], values[order]
    highs = solver.Highs()
    highs.silent()
    highs.passModel(program)
    highs.setOptionValue("solver", "ipm")
    highs.setOptionValue("threads", 1)
    highs.run()
    if highs.getModelStatus() != solver.HighsModelStatus.kOptimal:
        raise HocketError(f"HiGHS found no optimum: {highs.modelStatusToString(highs.getModelStatus())}")
    prices: NDArray[np.float64] = np.abs(np.array(highs.getSolution().row_dual)[capacity:])
    return np.asarray(prices / prices.max(), np.float64)


def _solver() -> Any:
    try:
        return importlib.import_module("highspy")
    except ImportError as error:
        raise HocketError(f"the linear program needs HiGHS: {install_command('solve')}") from error
