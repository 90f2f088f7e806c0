"""Sources of a module that do nothing but instantiate launchers: one of them for the host, the others for the device.

``instances`` recognises such sources, ``texts`` writes what they become, and what the headers that they share need.
"""
