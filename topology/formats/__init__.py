"""Files that say what a machine looks like: our YAML, ASTRA-sim's, NCCL's and RCCL's XML, `nvidia-smi topo -m`."""
