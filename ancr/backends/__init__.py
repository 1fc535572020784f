"""Arrays: NumPy with numba, and every other library through the array API standard."""
