"""ASTRA-sim's results, exactly: its own files in, its finish and exposed cycles of every rank out."""

from hocket.simulator.astra.prediction import AstraPrediction
from hocket.simulator.astra.setup import AstraSetup, Dimension, read_setup
from hocket.simulator.astra.simulation import simulate_astra
from hocket.simulator.astra.system import Backend, SystemFile

__all__ = ["AstraPrediction", "AstraSetup", "Backend", "Dimension", "SystemFile", "read_setup", "simulate_astra"]
