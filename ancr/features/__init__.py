"""From raw samples to the vectors a dictionary is made of."""

from ancr.features.deep import DeepFeatures
from ancr.features.eigenfaces import Eigenfaces
from ancr.features.images import UnreadableImageError

__all__ = ["DeepFeatures", "Eigenfaces", "UnreadableImageError"]
