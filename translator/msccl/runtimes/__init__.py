"""The runtimes that load MSCCL XML: a file each."""
