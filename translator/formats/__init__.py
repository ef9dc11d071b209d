"""Schedules and programs in other projects' formats, and plain tables and JSON."""
