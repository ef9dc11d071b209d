"""Profiles of PyTorch: ExecutionTraceObserver's host trace and Kineto's timeline."""
