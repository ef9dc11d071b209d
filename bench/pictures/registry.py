"""Every picture that is made, by its name."""

from collections.abc import Callable
from pathlib import Path

from hocket.bench.pictures import diagrams, jobs, libraries, networks, predictions, programs, schedules

__all__ = ["IMAGES", "PICTURES"]

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
PICTURES: dict[str, Callable[[], str]] = {
    "architecture": diagrams.architecture,
    "slurm": diagrams.collection,
    "models": diagrams.fidelity,
    "algorithm-steps": schedules.algorithm_steps,
    "algorithm-table": schedules.algorithm_table,
    "fabric-rail": lambda: predictions.fabric("rail"),
    "fabric-fat-tree": lambda: predictions.fabric("fat_tree"),
    "mesh-schedule": schedules.mesh_schedule,
    "regimes": predictions.regimes,
    "measured": predictions.measured,
    "step": predictions.step,
    "rank-times": predictions.traffic,
    "link-heat": predictions.link_heat,
    "deploy": diagrams.deployment,
    "data-flow": diagrams.data_flow,
    "served-call": diagrams.served_call,
    "recording": jobs.recording,
    "pipelines": jobs.pipelines,
    "shapes": networks.shapes,
    "incast": networks.incast,
    "traffic-load": networks.load_curves,
    "nccl-choices": libraries.nccl_choices,
    "nccl-terms": libraries.nccl_terms,
    "calibrated": libraries.calibrated,
    "thread-blocks": programs.thread_blocks,
    "engines": programs.engines,
}
