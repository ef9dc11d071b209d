"""A trace's collectives and messages again, on real ranks, measured against predicted."""
