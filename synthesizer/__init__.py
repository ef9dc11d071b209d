"""Makes schedules for a topology."""

from hocket.synthesizer.chunking import choose_chunks
from hocket.synthesizer.engine import Engine
from hocket.synthesizer.engines import ENGINES
from hocket.synthesizer.portfolio import AUTO, synthesize
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search, Stop
from hocket.synthesizer.summary import describe, summarize

__all__ = [
    "AUTO",
    "ENGINES",
    "Engine",
    "Problem",
    "Search",
    "Stop",
    "choose_chunks",
    "describe",
    "summarize",
    "synthesize",
]
