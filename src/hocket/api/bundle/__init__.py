"""Programs for all collectives of a job."""
