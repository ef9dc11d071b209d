"""What stock NCCL does on a machine, and what it did in a job."""
