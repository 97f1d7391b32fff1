"""First use: the virtual environment, system packages, nvcc and the C++ build. Standard library only."""
