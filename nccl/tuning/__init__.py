"""Which choices a tuner table should make: from measurements, or from the model."""

from hocket.nccl.tuning.constants import write_constants
from hocket.nccl.tuning.measured import Timed, Winners, find_winners
from hocket.nccl.tuning.predicted import model_choices, predicted_rules
from hocket.nccl.tuning.rules import Rule, rules_of, write_rules

__all__ = [
    "Rule",
    "Timed",
    "Winners",
    "find_winners",
    "model_choices",
    "predicted_rules",
    "rules_of",
    "write_constants",
    "write_rules",
]
