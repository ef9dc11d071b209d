"""What the metadata of a rank's trace says of its whole job, and what of it holds no longer when the job is changed."""

from collections.abc import Mapping

__all__ = [
    "ASSUMED_WORLD",
    "GROUP_DESCRIPTIONS",
    "JOB",
    "JOB_RANKS",
    "described_groups",
    "placed_in_whole",
    "with_groups_renamed",
    "without_totals",
]

#: The attribute that says what a job's groups are for: texts `NAME=DESCRIPTION`.
GROUP_DESCRIPTIONS = "group_descriptions"
#: Of a trace whose job's number of ranks neither a file nor anybody told.
ASSUMED_WORLD: Mapping[str, object] = {"world_assumed": True}
#: Of several jobs side by side: the name of the rank's own, and how many ranks it has.
JOB, JOB_RANKS = "job", "job_world_size"
#: Of the whole job's step: tokens, floating-point operations, the request that made it.
_TOTALS = ("tokens", "model_flops", "request")


def described_groups(metadata: Mapping[str, object]) -> dict[str, str]:
    """What groups are for, by their names; nothing of those that nobody describes."""
    told = metadata.get(GROUP_DESCRIPTIONS)
    pairs = [text.partition("=") for text in told if isinstance(text, str)] if isinstance(told, list) else []
    return {name: description for name, _, description in pairs}


def with_groups_renamed(metadata: dict[str, object], names: Mapping[str, str]) -> dict[str, object]:
    """The metadata where groups are called as `names` says; those it lacks keep their names."""
    if not (described := described_groups(metadata)):
        return metadata
    told = [f"{names.get(name, name)}={description}" for name, description in described.items()]
    return metadata | {GROUP_DESCRIPTIONS: told}


def without_totals(metadata: Mapping[str, object]) -> dict[str, object]:
    """The metadata of a part of a job, or of more than it: without what is said of the whole job's step."""
    return {name: value for name, value in metadata.items() if name not in _TOTALS}


def placed_in_whole(
    metadata: Mapping[str, object], job: str, own_ranks: int, rank: int, ranks: int
) -> dict[str, object]:
    """The metadata of rank `rank` of several jobs side by side on `ranks` ranks, which is of the job called `job`,
    whose files are of `own_ranks`. A job that is such a combination itself keeps its jobs apart: `INNER@JOB`."""
    inner = metadata.get(JOB)
    own = metadata.get(JOB_RANKS) if inner else metadata.get("world_size", own_ranks)
    name = f"{inner}@{job}" if inner else job
    return {**metadata, "rank": rank, "world_size": ranks, JOB: name, JOB_RANKS: own}
