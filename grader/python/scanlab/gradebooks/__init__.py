"""What a class got, in the files that gradebooks and autograders read, and the kit run inside such platforms."""
