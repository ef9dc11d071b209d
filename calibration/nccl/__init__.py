"""NCCL's own model fitted to measurements."""
