"""What benchmarks measured, turned into a topology and protocols that predict it."""
