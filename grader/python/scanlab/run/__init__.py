"""`run`: a CUDA program, or a lab's file without a main, on the virtual GPU or a real one."""
