"""What differs between two predictions."""
