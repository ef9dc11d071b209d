"""What a prediction means: critical path, waits, and tables of collectives, groups, ranks, steps and links."""

from hocket.base.late_imports import late_imports

with late_imports(__name__):
    from hocket.simulator.analysis.call_errors import CollectiveErrors
    from hocket.simulator.analysis.collectives import bandwidths, collective_table, group_table, sort_table
    from hocket.simulator.analysis.columns import Columns
    from hocket.simulator.analysis.compared_calls import ComparedCalls, calls_of
    from hocket.simulator.analysis.comparison import Change, PredictionComparison, compare
    from hocket.simulator.analysis.corrected import corrected_by
    from hocket.simulator.analysis.critical_path import CriticalPath, critical_path, path_parts
    from hocket.simulator.analysis.facts import PredictionFacts, SimulatedFacts
    from hocket.simulator.analysis.job_facts import JobFacts, job_facts
    from hocket.simulator.analysis.job_outcome import DimensionTime, JobOutcome, PartTime, SkipReason, outcome_of
    from hocket.simulator.analysis.json_form import prediction_json, write_prediction
    from hocket.simulator.analysis.knee import AlphaBeta, alpha_beta, crossovers, knee_bytes
    from hocket.simulator.analysis.links import link_table, link_use_table
    from hocket.simulator.analysis.packets import latency_table, queue_table, queue_use_table
    from hocket.simulator.analysis.rank_groups import RanksAlike, alike, ranks_called
    from hocket.simulator.analysis.rank_timeline import RankPart, RankTimeline, rank_parts_ps, rank_shares
    from hocket.simulator.analysis.ranks import rank_table
    from hocket.simulator.analysis.slack import slack
    from hocket.simulator.analysis.step_report import StepSummary, WhatIf, best_changes, gain_nothing
    from hocket.simulator.analysis.step_shares import Activity, StepPart, StepShares, step_shares
    from hocket.simulator.analysis.steps import step_table
    from hocket.simulator.analysis.stored import StoredPrediction, read_prediction
    from hocket.simulator.analysis.stored_facts import StoredFacts, StoredForm, stored_facts
    from hocket.simulator.analysis.swept_jobs import SweptJob, SweptJobs
    from hocket.simulator.analysis.tables import require_parquet, tables, write_csv, write_parquet, write_tables
    from hocket.simulator.analysis.validation import StepErrors, Validation, steps_of, validation
    from hocket.simulator.analysis.waits import Waits, caused_waits, waits

__all__ = [
    "Activity",
    "AlphaBeta",
    "Change",
    "CollectiveErrors",
    "Columns",
    "ComparedCalls",
    "CriticalPath",
    "DimensionTime",
    "JobFacts",
    "JobOutcome",
    "PartTime",
    "PredictionComparison",
    "PredictionFacts",
    "RankPart",
    "RankTimeline",
    "RanksAlike",
    "SimulatedFacts",
    "SkipReason",
    "StepErrors",
    "StepPart",
    "StepShares",
    "StepSummary",
    "StoredFacts",
    "StoredForm",
    "StoredPrediction",
    "SweptJob",
    "SweptJobs",
    "Validation",
    "Waits",
    "WhatIf",
    "alike",
    "alpha_beta",
    "bandwidths",
    "best_changes",
    "calls_of",
    "caused_waits",
    "collective_table",
    "compare",
    "corrected_by",
    "critical_path",
    "crossovers",
    "gain_nothing",
    "group_table",
    "job_facts",
    "knee_bytes",
    "latency_table",
    "link_table",
    "link_use_table",
    "outcome_of",
    "path_parts",
    "prediction_json",
    "queue_table",
    "queue_use_table",
    "rank_parts_ps",
    "rank_shares",
    "rank_table",
    "ranks_called",
    "read_prediction",
    "require_parquet",
    "slack",
    "sort_table",
    "step_shares",
    "step_table",
    "steps_of",
    "stored_facts",
    "tables",
    "validation",
    "waits",
    "write_csv",
    "write_parquet",
    "write_prediction",
    "write_tables",
]
