"""Makes schedules for a topology."""

from hocket.synthesizer.all_to_all_planner import AllToAllPlanner
from hocket.synthesizer.chunking import ChunkChoice, choose_chunks
from hocket.synthesizer.engine import Engine
from hocket.synthesizer.engines import ENGINES, engine_names
from hocket.synthesizer.objective import Objective
from hocket.synthesizer.portfolio import AUTO
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Progress, Search, Stop
from hocket.synthesizer.summary import describe, summarize
from hocket.synthesizer.synthesis import Synthesized, solve, synthesize
from hocket.synthesizer.together import Together, solve_together
from hocket.synthesizer.windows import ScheduleWindow, windows

__all__ = [
    "AUTO",
    "ENGINES",
    "AllToAllPlanner",
    "ChunkChoice",
    "Engine",
    "Objective",
    "Problem",
    "Progress",
    "ScheduleWindow",
    "Search",
    "Stop",
    "Synthesized",
    "Together",
    "choose_chunks",
    "describe",
    "engine_names",
    "solve",
    "solve_together",
    "summarize",
    "synthesize",
    "windows",
]
