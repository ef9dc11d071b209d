"""How an engine comes to a collective: straight, backwards in time, in two halves, or with the network's help; and each
of these on the lanes of trunks."""

from hocket.synthesizer.engine import Engine, NamedEngine
from hocket.synthesizer.in_network import InNetwork
from hocket.synthesizer.on_lanes import OnLanes
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.time_reversal import Halves, TimeReversed
from hocket.synthesizer.uneven_halves import UnevenHalves

__all__ = ["derived_engines"]


def derived_engines(engine: NamedEngine, problem: Problem) -> tuple[list[Engine], str]:
    """The ways in which the engine can solve the problem, and why there are none if so."""
    candidates: list[Engine] = [engine]
    if not engine.as_asked:
        candidates += [TimeReversed(engine), Halves(engine), UnevenHalves(engine), InNetwork(engine)]
    if not engine.shares_links and problem.on_lanes is not None:
        candidates = [OnLanes(candidate) for candidate in candidates]
    reasons = [candidate.why_not(problem) for candidate in candidates]
    able = [candidate for candidate, reason in zip(candidates, reasons, strict=True) if reason is None]
    return able, reasons[0] or ""
