"""What curves say, in sentences for the terminal and the page."""

from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.simulator.analysis import crossovers
from hocket.simulator.sweep.curves import SimulatedCurve

__all__ = ["crossover_sentence", "fit_sentence"]


def fit_sentence(curve: SimulatedCurve) -> str:
    """Alpha and beta; empty where there is no fit."""
    if curve.fit is None:
        return ""
    alpha, bandwidth = format_time(curve.fit.alpha_ps), format_bandwidth(curve.fit.bandwidth)
    return f"alpha + beta * size: {alpha} + size / {bandwidth}, off by at most {curve.fit.worst:.1%}"


def crossover_sentence(first: SimulatedCurve, second: SimulatedCurve) -> str:
    """Which of two curves over the same sizes is faster, and from where on no longer."""
    sizes, ones, others = first.columns["size_bytes"], first.columns["time_ps"], second.columns["time_ps"]
    names = [f"{curve.algorithm} on {curve.topology}" for curve in (first, second)]
    differ = (ones != others).nonzero()[0]
    if not len(differ):
        return f"{names[0]} and {names[1]} take the same time at every size"
    faster, slower = names if ones[differ[0]] < others[differ[0]] else names[::-1]
    places = crossovers(sizes.tolist(), ones.tolist(), others.tolist())
    if not places:
        return f"no crossover: {faster} is faster than {slower} or as fast at every size"
    where = ", ".join(format_bytes(round(place)) for place in places)
    return f"crossover at {where}: below it {faster} is faster than {slower}"
