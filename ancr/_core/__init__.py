"""What every room stands on: arrays of any library, compiled kernels, threads, budgets, files, messages."""
