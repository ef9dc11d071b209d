"""Times of NCCL on machines that nobody measured, or of which a few rows are known, from public tables of others."""

from hocket.calibration.transfer.features import CurveFeatures, CurvePlace, Observed, features_of, observed, place_of
from hocket.calibration.transfer.fitting import Fit, fit_curves
from hocket.calibration.transfer.prediction import PredictedTimes, predict
from hocket.calibration.transfer.prior import Prior, read_prior
from hocket.calibration.transfer.tables import PublicTable, public_tables
from hocket.calibration.transfer.training import train

__all__ = [
    "CurveFeatures",
    "CurvePlace",
    "Fit",
    "Observed",
    "PredictedTimes",
    "Prior",
    "PublicTable",
    "features_of",
    "fit_curves",
    "observed",
    "place_of",
    "predict",
    "public_tables",
    "read_prior",
    "train",
]
