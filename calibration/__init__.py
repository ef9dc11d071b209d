"""What measurements say about a machine: reading them, fitting them, and what they disagree with."""

from hocket.base.collectives import MESSAGE
from hocket.calibration.calibrated_topology import Calibrated, calibrated_topology
from hocket.calibration.calibration import Calibration, calibrate
from hocket.calibration.curve import MeasuredCurve, curves_of
from hocket.calibration.disagreements import Disagreement, disagreements
from hocket.calibration.fitting import CurveFit, fit_curve
from hocket.calibration.impossible import refuse_impossible
from hocket.calibration.kernel_costs import CostsFit, MeasuredProgram, fit_costs, program_time_ps
from hocket.calibration.levels import Estimate, LevelFit
from hocket.calibration.machine import on_machines
from hocket.calibration.measurement import Assumed, Measurement
from hocket.calibration.nccl.calibration import calibrate_nccl, predictor
from hocket.calibration.nccl.releases import Releases, measured_releases, measured_settings
from hocket.calibration.parameters import read_parameters, save_parameters
from hocket.calibration.pieces import Pieces
from hocket.calibration.reading import read_measurements
from hocket.calibration.validation import Errors, HeldOut, hold_out
from hocket.nccl.fitted import FREE, NcclCalibration
from hocket.nccl.fitted_file import read_nccl_calibration

__all__ = [
    "FREE",
    "MESSAGE",
    "Assumed",
    "Calibrated",
    "Calibration",
    "CostsFit",
    "CurveFit",
    "Disagreement",
    "Errors",
    "Estimate",
    "HeldOut",
    "LevelFit",
    "MeasuredCurve",
    "MeasuredProgram",
    "Measurement",
    "NcclCalibration",
    "Pieces",
    "Releases",
    "calibrate",
    "calibrate_nccl",
    "calibrated_topology",
    "curves_of",
    "disagreements",
    "fit_costs",
    "fit_curve",
    "hold_out",
    "measured_releases",
    "measured_settings",
    "on_machines",
    "predictor",
    "program_time_ps",
    "read_measurements",
    "read_nccl_calibration",
    "read_parameters",
    "refuse_impossible",
    "save_parameters",
]
