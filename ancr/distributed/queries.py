"""Many queries over a dictionary that every worker holds: Dask arrays and dataframes, coded lazily, block by block.

The classifier lives on the workers as a plugin: the scheduler sends it to each worker once, including workers that join
or come back later, and the task graph does not contain it.
"""

import uuid
from dataclasses import dataclass
from typing import Any, Self
from weakref import WeakValueDictionary

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from distributed import WorkerPlugin, default_client, get_worker
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ancr._core.arrays import Array, to_numpy


class Resident(WorkerPlugin):
    """A fitted classifier that lives on every worker of a cluster."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def setup(self, worker: Any) -> None:
        """Factorise before the first query: threads of a worker would each do it."""
        self.classifier.solver_  # noqa: B018


# Classifiers sent from this process, for a graph that a local scheduler computes even though there is a client.
_SENT: WeakValueDictionary[str, Any] = WeakValueDictionary()


def _resident(name: str) -> Any:
    try:
        classifier = getattr(get_worker().plugins.get(name), "classifier", None)
    except ValueError:  # not on a worker
        classifier = _SENT.get(name)
    if classifier is None:
        raise RuntimeError("the classifier was closed or fitted again; results must be computed before that")
    return classifier


@dataclass(frozen=True)
class _OnWorker:
    """Calls a method of the resident classifier; without a cluster, of the classifier it carries."""

    name: str
    method: str
    classifier: Any = None

    def __call__(self, block: Any) -> Any:
        classifier = self.classifier or _resident(self.name)
        there = classifier.dictionary_
        empty = not len(block)  # a filter can leave a block empty
        queries = np.zeros((1, classifier.n_features_in_)) if empty else block
        # Blocks of a Dask array are NumPy arrays; a classifier on a device takes and returns arrays of its own kind.
        queries = there.like(np.asarray(queries)) if there.is_non_numpy else queries
        result = to_numpy(getattr(classifier, self.method)(queries))
        return result[:0] if empty else result

    def __dask_tokenize__(self) -> tuple[str, str]:
        return self.name, self.method


class DaskClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose queries are Dask arrays or dataframes.

    `predict` and similar methods return lazy Dask arrays, one task per block of queries; input that is not a Dask
    collection goes to the classifier itself. The first call sends the classifier to the workers of the current
    `distributed.Client`; without one, Dask's local schedulers use it in this process. It stays on the workers until
    `close`, the end of a ``with`` block, or the first call after a new fit; results must be computed before that.

    Parameters
    ----------
    estimator : classifier of ancr
        Already fitted, or to be fitted by `fit`, on arrays in memory. One that was fitted on a device computes there on
        every worker (give each worker a GPU of its own); blocks of queries and of results are NumPy arrays.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        Its labels.
    n_features_in_, feature_names_in_ : int and ndarray
        As of the fitted classifier.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifier
    >>> from ancr.distributed import DaskClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = DaskClassifier(ANCRClassifier()).fit(X[::2], y[::2])
    >>> labels = clf.predict(da.from_array(X[1::50], chunks=(2, 4)))
    >>> labels.compute(scheduler="threads")
    array([0, 1, 2])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a clone of the classifier on arrays in memory."""
        from sklearn.base import clone

        self.close()
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self.estimator).fit(X, y, **weights)
        return self

    @property
    def _fitted(self) -> Any:
        fitted = getattr(self, "estimator_", self.estimator)
        check_is_fitted(fitted)
        return fitted

    @property
    def classes_(self) -> Array:
        """Labels."""
        return self._fitted.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._fitted.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns, if the samples had any."""
        return self._fitted.feature_names_in_

    def predict(self, X: Any) -> Any:
        """Label of the class that represents each query best."""
        return self._map(X, "predict", (), to_numpy(self.classes_).dtype)

    def predict_proba(self, X: Any) -> Any:
        """Softmax of the decision values, (n_queries, n_classes)."""
        return self._map(X, "predict_proba", (self.classes_.shape[0],))

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`, (n_queries, n_classes)."""
        return self._map(X, "predict_log_proba", (self.classes_.shape[0],))

    def decision_function(self, X: Any) -> Any:
        """Decision values, (n_queries,) for two classes, else (n_queries, n_classes)."""
        n_classes = self.classes_.shape[0]
        return self._map(X, "decision_function", () if n_classes == 2 else (n_classes,))

    def residuals(self, X: Any) -> Any:
        """Class residuals, (n_queries, n_classes)."""
        return self._map(X, "residuals", (self.classes_.shape[0],))

    def codes(self, X: Any) -> Any:
        """Codes, (n_queries, n_train); blocks are CSR where the set makes codes sparse."""
        return self._map(X, "codes", (self._fitted.dictionary_.n_samples,))

    def close(self) -> None:
        """Remove the classifier from the workers."""
        name, client, _ = getattr(self, "_resident", ("", None, None))
        if client is not None:
            del self._resident
            if client.status == "running":
                client.unregister_worker_plugin(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(getattr(self, "estimator_", self.estimator), "dictionary_")

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_resident"}

    def _map(self, X: Any, method: str, trailing: tuple[int, ...], dtype: Any = None) -> Any:
        if not is_dask_collection(X):
            return getattr(self._fitted, method)(X)
        self._check_queries(X)
        call = self._call(method)
        dtype = np.dtype("float32" if self._fitted.dictionary_.is_single else "float64") if dtype is None else dtype
        if not isinstance(X, da.Array):
            from dask import delayed

            # A frame's partitions arrive as pandas frames, so that feature names are checked.
            blocks = [delayed(call)(block) for block in X.to_delayed()]
            return da.concatenate([da.from_delayed(block, (np.nan, *trailing), dtype) for block in blocks])
        X = X.rechunk({1: -1})
        shape = {"chunks": (X.chunks[0], trailing)} if trailing else {"chunks": (X.chunks[0],), "drop_axis": 1}
        meta = np.empty((0,) * (1 + len(trailing)), dtype)
        return da.map_blocks(call, X, token=f"ancr-{method}", dtype=dtype, meta=meta, **shape)

    def _check_queries(self, X: Any) -> None:
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if len(shape) != 2 or not hasattr(X, "to_delayed"):
            raise ValueError(f"X must be a Dask array or dataframe of two dimensions, got {type(X).__name__} {shape}")
        if shape[1] != self._fitted.n_features_in_:
            raise ValueError(f"X must have the {self._fitted.n_features_in_} features seen by fit, got {shape[1]}")

    def _call(self, method: str) -> _OnWorker:
        fitted = self._fitted
        try:
            client = default_client()
        except ValueError:
            return _OnWorker(uuid.uuid4().hex, method, fitted)
        name, home, sent = getattr(self, "_resident", ("", None, None))
        # Every fit makes a new solver.
        if home is not client or sent is not fitted.solver_:
            self.close()
            name = f"ancr-{uuid.uuid4().hex}"
            client.register_plugin(Resident(fitted), name=name)
            self._resident, _SENT[name] = (name, client, fitted.solver_), fitted
        return _OnWorker(name, method)
