"""scikit-learn's base classes, with the types that it does not ship.

To a type checker an untyped class is unknown, and a dataclass over an unknown class accepts any argument: with these
declarations a misspelt parameter of a classifier is found.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    class ClassifierMixin:
        """What scikit-learn asks a classifier for."""

    class BaseEstimator:
        """Parameters by name, and their validation."""

        n_features_in_: int
        feature_names_in_: np.ndarray

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Any: ...
        def _validate_params(self) -> None: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getstate__(self) -> Any: ...
        def __setstate__(self, state: Any) -> None: ...
else:
    from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: F401
