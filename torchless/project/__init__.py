"""What is in the checkout: modules, sources, Python ops, bindings."""
