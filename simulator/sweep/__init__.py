"""Many simulations at once: grids of what-ifs, resumable, in one process or on many."""

from hocket.simulator.sweep.curves import SimulatedCurve, curves
from hocket.simulator.sweep.execution import sweep
from hocket.simulator.sweep.grid import grid
from hocket.simulator.sweep.point import Point
from hocket.simulator.sweep.sweep_file import load_sweep

__all__ = ["Point", "SimulatedCurve", "curves", "grid", "load_sweep", "sweep"]
