"""What is found by trying a changed program: statements that are missing, slips in a line, what is needless."""
