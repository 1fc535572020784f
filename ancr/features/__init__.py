"""From raw samples to the vectors a dictionary is made of."""

from ancr.features.eigenfaces import Eigenfaces

__all__ = ["Eigenfaces"]
