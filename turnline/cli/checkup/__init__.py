"""What `turnline doctor` looks at."""
