"""Random jobs that end: collectives of groups, messages and computation, in the same order on all ranks."""

from hypothesis import strategies as st

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet

GROUPS = {"": (0, 1, 2), "pair": (2, 0)}


@st.composite
def jobs(draw: st.DrawFn) -> TraceSet:
    """Three ranks; what follows something waits for it or overlaps it, and ranks are late by chance."""
    builders = [TraceBuilder() for _ in range(3)]
    last: list[tuple[int, ...]] = [() for _ in builders]
    for _ in range(draw(st.integers(1, 5))):
        ends = []
        for rank, builder in enumerate(builders):
            duration = draw(st.integers(0, 3)) * 1_000
            ends.append(builder.add_comp("work", duration_ns=duration, deps=last[rank]))
        size = draw(st.integers(0, 3)) * 1_000
        if draw(st.booleans()):
            kind, group = draw(st.sampled_from(CollectiveType)), draw(st.sampled_from(sorted(GROUPS)))
            calls = {
                rank: builders[rank].add_collective(
                    "call", kind, size, deps=(ends[rank],), group=group, root=GROUPS[group][0]
                )
                for rank in GROUPS[group]
            }
        else:
            calls = {
                1: builders[1].add_send("out", size, src=1, dst=2, deps=(ends[1],)),
                2: builders[2].add_recv("in", size, src=1, dst=2, deps=(ends[2],)),
            }
        for rank in range(3):
            both = (ends[rank], calls[rank]) if rank in calls else (ends[rank],)
            last[rank] = both if draw(st.booleans()) else (ends[rank],)
    return TraceSet(tuple(builder.build() for builder in builders), GROUPS)
