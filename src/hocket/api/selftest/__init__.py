"""What works on this machine and how fast it is, in one file to send back."""
