"""C++ allocations read as Python: what a launcher allocates, said so that its Python wrapper can allocate it."""
