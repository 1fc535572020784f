"""The exact solver: a working-set method that prices all atoms; `pricing` describes it for every kind of machine."""
