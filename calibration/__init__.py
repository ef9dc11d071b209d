"""What measurements say about a machine: reading them, fitting them, and what they disagree with."""

from hocket.calibration.measurement import MESSAGE, Assumed, Measurement
from hocket.calibration.reading import read_measurements

__all__ = ["MESSAGE", "Assumed", "Measurement", "read_measurements"]
