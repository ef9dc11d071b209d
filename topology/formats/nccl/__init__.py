"""NCCL's and RCCL's topology files, and NCCL's graph files."""
