"""Finished recordings of a job: read, merged, judged."""
