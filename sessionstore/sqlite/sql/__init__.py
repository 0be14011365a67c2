"""One statement a file, named like the method that runs it."""
