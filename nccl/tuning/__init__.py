"""Which choices a tuner table should make: from measurements, or from the model."""

from hocket.nccl.tuning.constants import write_constants
from hocket.nccl.tuning.measured import Timing, Winners, find_winners
from hocket.nccl.tuning.predicted import model_choices, predicted_rules
from hocket.nccl.tuning.rules import TunerRule, rules_of, rules_text, write_rules

__all__ = [
    "Timing",
    "TunerRule",
    "Winners",
    "find_winners",
    "model_choices",
    "predicted_rules",
    "rules_of",
    "rules_text",
    "write_constants",
    "write_rules",
]
