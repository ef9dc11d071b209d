"""Runs a program on real processes: torch.distributed (gloo) or MPI."""
