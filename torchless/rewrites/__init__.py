"""What a pattern cannot say: signatures, guards, includes, bindings, Python ops."""
