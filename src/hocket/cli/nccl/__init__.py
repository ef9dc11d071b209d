"""The parts of `hocket nccl`."""
