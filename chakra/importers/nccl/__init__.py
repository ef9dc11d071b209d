"""Files of Hocket's profiler plugin for NCCL."""
