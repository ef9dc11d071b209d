"""Traces of jobs that nobody ran."""
