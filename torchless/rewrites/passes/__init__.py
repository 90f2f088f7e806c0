"""What of a HIP source only the host pass needs: kept out of the device pass by a guard.

``items`` cuts a file into what stands at namespace scope, ``need`` follows names from device code to what it needs,
``guard`` writes the guards and names the kernels that the device pass would not instantiate any more.
"""
