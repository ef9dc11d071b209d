"""What a job's collectives cost while it runs, as metrics that monitoring systems read."""
