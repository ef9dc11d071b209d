"""What `nvidia-smi topo -m` prints, and the machine that it tells."""
