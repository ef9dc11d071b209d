"""The shared libraries that NCCL loads."""
