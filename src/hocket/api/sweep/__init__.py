"""Simulations of every combination of what is varied, resumable, on one process or many."""
