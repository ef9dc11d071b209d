"""Makes schedules for a topology."""
