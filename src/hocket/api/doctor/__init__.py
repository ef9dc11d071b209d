"""What is installed here, and what that is good for."""
