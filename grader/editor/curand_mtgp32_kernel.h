// Empty, for clangd, as the other header here: NVIDIA's wheels, from which the kit takes a compiler where the machine
// has none, come without cuRAND.
