"""NCCL itself, run on this machine's processors: its host code, built from its sources over stand-ins for CUDA."""
