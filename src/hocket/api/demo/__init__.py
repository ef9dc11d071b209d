"""The whole chain once: a real training job to verified, executed MSCCL XML, and a report of it."""
