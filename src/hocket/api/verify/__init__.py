"""Proofs that schedules and programs are right, or where they are wrong."""
