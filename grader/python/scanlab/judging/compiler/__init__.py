"""What nvcc, the linker and g++ report of a file, in the words of who wrote it."""
