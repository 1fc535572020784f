"""The exact solver: a working-set method that prices all atoms, in one version for the host and one for devices."""
