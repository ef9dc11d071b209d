"""ASTRA-sim's results, exactly: its own files in, its finish and exposed cycles of every rank out."""

from hocket.simulator.astra.prediction import AstraPrediction
from hocket.simulator.astra.setup import AstraDimension, AstraSetup, read_setup
from hocket.simulator.astra.simulation import simulate_astra
from hocket.simulator.astra.system import AstraBackend, SystemFile

__all__ = [
    "AstraBackend",
    "AstraDimension",
    "AstraPrediction",
    "AstraSetup",
    "SystemFile",
    "read_setup",
    "simulate_astra",
]
