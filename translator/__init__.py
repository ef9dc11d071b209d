"""Schedules and programs to and from MSCCL XML; lowering to thread blocks."""
