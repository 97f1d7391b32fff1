"""How nvcc is run, and what it, the linker and g++ report of a file, in the words of who wrote it."""
