"""Recordings of NCCL's profiler plugin, joined with those of PyTorch."""
