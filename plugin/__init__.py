"""What runs inside a job: the PyTorch collector, the NCCL plugins, the executors of programs."""
