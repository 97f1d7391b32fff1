"""Each system that takes grades, in a file of its own."""
