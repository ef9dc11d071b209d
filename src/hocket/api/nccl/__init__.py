"""What stock NCCL does on a cluster, and what it did in a job."""
