"""A checkout in aiter's shape, for trying torchless on."""
