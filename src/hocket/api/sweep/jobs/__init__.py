"""Sweeps over jobs: models by plans, and traces, on topologies."""
