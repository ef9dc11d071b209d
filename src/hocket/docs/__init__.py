"""What the documentation takes from the code."""
