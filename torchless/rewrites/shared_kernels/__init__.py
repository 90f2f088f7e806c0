"""Kernels that many sources of a module instantiate alike: one source of their own has them, the others declare them.

``texts`` writes that source, the declarations, and the line of the module's description.
"""
