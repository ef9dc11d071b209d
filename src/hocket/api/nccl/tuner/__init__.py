"""The parts of `hocket nccl tuner`."""
