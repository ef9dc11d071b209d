"""Issues a trace's collectives and messages again, on real ranks (docs/replay.md)."""
