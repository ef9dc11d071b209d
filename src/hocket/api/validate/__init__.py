"""What a job recorded beside what is predicted of it."""
