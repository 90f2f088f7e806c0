"""Functions that give tensors back: what they give back becomes the business of Python.

The target's tensor owns no memory and cannot be handed to Python. A function that returned tensors becomes ``void``;
the op keeps its Python signature, and its wrapper returns what the function returned.

``reading`` finds the functions and their return statements, ``contracts`` decides over all files what each of them
gives back, ``emitting`` writes the C++ side, ``rewrites/wrappers.py`` the Python side.
"""
