"""Dask: many queries over a dictionary that every worker holds, and many atoms that no machine holds.

`DaskClassifier` codes Dask arrays and dataframes lazily, block by block. The classifier lives on the workers as a
plugin: the scheduler hands it to every worker once, also to those that join or come back later, and the graph of a
computation holds nothing of it.

`ShardedClassifier` keeps the atoms in files next to the workers; `ancr.sharding` says how a query finds its optimum.
"""

import uuid
import warnings
from dataclasses import dataclass
from numbers import Real
from weakref import WeakValueDictionary

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize as unit_rows
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ancr.dictionary import kind_of_labels
from ancr.quadratics import QUADRATICS
from ancr.rules import RULES, class_residuals
from ancr.sharding import Candidates, Question, Shard, price
from ancr.solvers import finite

try:
    import dask.array as da
    from dask.base import is_dask_collection
    from distributed import WorkerPlugin, default_client, get_client, get_worker
except ImportError as error:  # pragma: no cover
    raise ImportError("ancr.distributed needs Dask: pip install 'ancr[dask]'") from error

# Queries whose candidates the client holds at once.
BLOCK_QUERIES = 256
# Atoms a round may add to a query, over all shards.
ATOMS_A_ROUND = 64


class Resident(WorkerPlugin):
    """A fitted classifier that lives on every worker of a cluster."""

    def __init__(self, classifier):
        self.classifier = classifier


# Classifiers sent from this process, for a graph that a local scheduler computes although there is a client.
_SENT = WeakValueDictionary()


def _resident(name):
    try:
        plugin = get_worker().plugins.get(name)
        classifier = plugin and plugin.classifier
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
    classifier: object = None

    def __call__(self, block):
        classifier = self.classifier or _resident(self.name)
        if not len(block):  # a filter can leave a block with nothing in it
            return getattr(classifier, self.method)(np.zeros((1, classifier.n_features_in_)))[:0]
        return getattr(classifier, self.method)(block)

    def __dask_tokenize__(self):
        return self.name, self.method


class DaskClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose queries are Dask arrays or dataframes.

    `predict` and its like return lazy Dask arrays, one block of queries a task; anything that is not of Dask goes to
    the classifier itself. The first call sends the classifier to the workers of the current
    `distributed.Client`; without one, Dask's local schedulers use it where it is. It stays there until `close`, or
    the end of a ``with`` block, or the first call after it was fitted again; results must be computed before that.

    Parameters
    ----------
    estimator : classifier of ancr
        Fitted already, or to be fitted by `fit`, on arrays in memory.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        Its labels.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifier
    >>> from ancr.distributed import DaskClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = DaskClassifier(ANCRClassifier()).fit(X[::2], y[::2])
    >>> labels = clf.predict(da.from_array(X[1::50], chunks=(2, 4)))
    >>> labels.compute()
    array([0, 1, 2])
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        """Fit a clone of the classifier on arrays in memory."""
        from sklearn.base import clone

        self.close()
        self.estimator_ = clone(self.estimator).fit(X, y)
        return self

    @property
    def _fitted(self):
        fitted = getattr(self, "estimator_", self.estimator)
        check_is_fitted(fitted)
        return fitted

    @property
    def classes_(self):
        """Labels."""
        return self._fitted.classes_

    def predict(self, X):
        """Label of the class that represents each query best."""
        return self._map(X, "predict", (), self.classes_.dtype)

    def predict_proba(self, X):
        """Softmax of the decision values, (n_queries, n_classes)."""
        return self._map(X, "predict_proba", (len(self.classes_),))

    def decision_function(self, X):
        """Decision values, (n_queries,) for two classes, else (n_queries, n_classes)."""
        return self._map(X, "decision_function", () if len(self.classes_) == 2 else (len(self.classes_),))

    def residuals(self, X):
        """Class residuals, (n_queries, n_classes)."""
        return self._map(X, "residuals", (len(self.classes_),))

    def codes(self, X):
        """Codes, (n_queries, n_train); blocks are CSR where the set makes codes sparse."""
        return self._map(X, "codes", (self._fitted.dictionary_.n_atoms,))

    def close(self):
        """Take the classifier off the workers."""
        name, client, _ = self.__dict__.pop("_resident", (None, None, None))
        if client is not None and client.status == "running":
            client.unregister_worker_plugin(name)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __sklearn_is_fitted__(self):
        return hasattr(getattr(self, "estimator_", self.estimator), "dictionary_")

    def __getstate__(self):
        return {key: value for key, value in super().__getstate__().items() if key != "_resident"}

    def _map(self, X, method, trailing, dtype=None):
        if not is_dask_collection(X):
            return getattr(self._fitted, method)(X)
        self._check_queries(X)
        call = self._call(method)
        dtype = self._fitted.dictionary_.dtype if dtype is None else dtype
        if not isinstance(X, da.Array):
            from dask import delayed

            # A frame's partitions arrive as pandas frames, so that names of features are checked.
            blocks = [delayed(call)(block) for block in X.to_delayed()]
            return da.concatenate([da.from_delayed(block, (np.nan, *trailing), dtype) for block in blocks])
        X = X.rechunk({1: -1})
        chunks, drop = (X.chunks[0], trailing), None
        if not trailing:
            chunks, drop = (X.chunks[0],), 1
        meta = np.empty((0,) * (1 + len(trailing)), dtype)
        return da.map_blocks(call, X, token=f"ancr-{method}", dtype=dtype, chunks=chunks, drop_axis=drop, meta=meta)

    def _check_queries(self, X):
        shape = getattr(X, "shape", ())
        if len(shape) != 2 or not hasattr(X, "to_delayed"):
            raise ValueError(f"X must be a Dask array or dataframe of two dimensions, got {type(X).__name__} {shape}")
        if shape[1] != self._fitted.n_features_in_:
            raise ValueError(f"X must have the {self._fitted.n_features_in_} features seen by fit, got {shape[1]}")

    def _call(self, method):
        fitted = self._fitted
        try:
            client = default_client()
        except ValueError:
            return _OnWorker(uuid.uuid4().hex, method, fitted)
        name, home, sent = self.__dict__.get("_resident", (None, None, None))
        # Whatever learns makes a new solver; asking for it here spares every worker from making its own.
        if home is not client or sent is not fitted.solver_:
            self.close()
            name = f"ancr-{uuid.uuid4().hex}"
            client.register_plugin(Resident(fitted), name=name)
            self._resident, _SENT[name] = (name, client, fitted.solver_), fitted
        return _OnWorker(name, method)


@dataclass(frozen=True)
class ShardedSolution:
    """Codes over all shards, with the certificate that covers all their atoms.

    Attributes
    ----------
    codes : CSR array of shape (n_queries, n_atoms)
        Columns in the order of the shards and of the rows in them.
    objective, gap, n_iter, converged : ndarray of shape (n_queries,)
        As in `ancr.solvers.Solution`; an iteration is one look at all atoms.
    """

    codes: sparse.csr_array
    objective: np.ndarray
    gap: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray


class ShardedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose atoms lie in files that only workers read.

    Each look at all atoms is one task a file, in which a worker streams the file and sends back the few atoms that a
    query can improve with. The result is the optimum over all atoms, certified as on one machine. A worker that is
    lost costs the time of its tasks; another one reads the file, so files must be within reach of all.

    Parameters
    ----------
    estimator : classifier of ancr
        Gives the settings: quadratic, ``alpha``, set, rule, ``normalize``, ``temperature``. The set must be the
        simplex, or the non-negative one with a ridge, and the rule ``"res"``, ``"reg"`` or ``"pro"``.
    tol : float, default=1e-8
        Relative gap that every query must reach, in double precision, whatever the precision of the files.

    Attributes
    ----------
    shards_ : list of Shard
        The files.
    classes_ : ndarray of shape (n_classes,)
        Labels found in them.
    n_features_in_ : int
        Number of features.
    n_atoms_ : int
        Atoms in all files.
    """

    def __init__(self, estimator, *, tol=1e-8):
        self.estimator = estimator
        self.tol = tol

    def fit(self, paths, labels):
        """Let workers read every file once, to know its shape and classes and that its numbers are finite.

        Parameters
        ----------
        paths : list of str
            Files of atoms: ``.npy``, ``.zarr`` or ``.parquet``.
        labels : list or str
            One ``.npy`` file or array of labels a path; for parquet, the name of the column that holds them.

        Returns
        -------
        self
        """
        self._check_settings()
        if isinstance(paths, str) or not hasattr(paths, "__len__"):
            raise ValueError(f"paths must be a list of files, got {paths!r}")
        labels = [labels] * len(paths) if isinstance(labels, str) else list(labels)
        if not len(paths) or len(labels) != len(paths):
            raise ValueError(f"labels must be one for each of the {len(paths)} paths, at least one, got {len(labels)}")
        labels = [str(each) if hasattr(each, "__fspath__") else each for each in labels]
        self.shards_ = [
            Shard(str(path), own, self.estimator.normalize) for path, own in zip(paths, labels, strict=True)
        ]
        found = self._on_workers(Shard.describe, [()] * len(self.shards_))
        widths = {description.n_features for description in found}
        if len(widths) > 1:
            raise ValueError(f"all shards must have the same number of features, got {sorted(widths)}")
        kinds = {kind_of_labels(description.classes) for description in found}
        if len(kinds) > 1:
            raise ValueError(f"labels must be of one kind in all shards, got {sorted(kinds)}")
        (self.n_features_in_,) = widths
        self.classes_ = np.unique(np.concatenate([description.classes for description in found]))
        if len(self.classes_) < 2:
            raise ValueError(f"labels must hold at least two classes, got one class: {self.classes_[0]!r}")
        self._longest = max(description.longest for description in found)
        self._starts = np.cumsum([0, *(description.n_rows for description in found)])
        self.n_atoms_ = int(self._starts[-1])
        return self

    def _check_settings(self):
        if not isinstance(self.tol, Real) or not self.tol > 0.0:
            raise ValueError(f"tol must be a positive number, got {self.tol!r}")
        if not hasattr(self.estimator, "quadratic"):
            raise ValueError(
                f"estimator must have its settings, got {type(self.estimator).__name__}; one that chooses them can be "
                "fitted on a sample first: RepresentationClassifier(**best_params_)"
            )
        self.estimator._validate_params()
        quadratic, constraint, rule = self._quadratic, self.estimator.constraint, self.estimator.rule
        able = constraint == "simplex" or (constraint == "nonnegative" and quadratic.ridge > 0.0)
        more = quadratic.blocks or quadratic.absolute or finite(getattr(self.estimator, "relaxation", None))
        if not able or more or self.estimator.solver != "exact":
            raise ValueError(
                "estimator must have solver='exact', no ℓ1 term, no class blocks, no relaxation and "
                "constraint='simplex', or 'nonnegative' with alpha > 0, to be used on shards, "
                f"got {self.estimator!r}"
            )
        if rule not in ("res", "reg", "pro"):
            raise ValueError(f"estimator must have rule 'res', 'reg' or 'pro' to be used on shards, got {rule!r}")

    @property
    def _quadratic(self):
        # Weights of class terms do not matter: a quadratic that has such terms is refused.
        return QUADRATICS[self.estimator.quadratic](getattr(self.estimator, "alpha", 0.0), 1.0, 2)

    def _on_workers(self, function, arguments):
        """``[function(shard, *its arguments)]``: the same worker for the same file while workers stay the same."""
        client = get_client()
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        futures = [
            client.submit(
                function, shard, *own, workers=[workers[i % len(workers)]], allow_other_workers=True, pure=False
            )
            for i, (shard, own) in enumerate(zip(self.shards_, arguments, strict=True))
        ]
        return client.gather(futures)

    def _optimise(self, X):
        """One `Candidates` a query, at its optimum."""
        check_is_fitted(self, "shards_")
        X = check_array(X, dtype=np.float64, input_name="X")
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have the {self.n_features_in_} features of the shards, got {X.shape[1]}")
        X = unit_rows(X) if self.estimator.normalize else X
        done = []
        for start in range(0, len(X), BLOCK_QUERIES):
            done += self._optimise_block(X[start : start + BLOCK_QUERIES])
        unmet = sum(not query.certified for query in done)
        if unmet:
            message = f"{unmet} of {len(done)} queries could not be certified optimal to tol={self.tol:g}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        return done

    def _optimise_block(self, rows):
        quadratic, constraint = self._quadratic, self.estimator.constraint
        block = [Candidates(row, self.classes_, quadratic, constraint, self.tol) for row in rows]
        most = max(8, ATOMS_A_ROUND // len(self.shards_))
        while active := [query for query in block if not (query.certified or query.stuck)]:
            residuals = np.array([query.residual for query in active])
            levels = np.array([query.level for query in active])
            questions = [
                Question(residuals, levels, [query.row[query.shard == number] for query in active])
                for number in range(len(self.shards_))
            ]
            answers = self._on_workers(price, [(self._longest, question, most) for question in questions])
            for query, *own in zip(active, *answers, strict=True):
                query.hear(own)
        return block

    def solve(self, X):
        """Codes of the queries over all shards, and their certificates.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries, in memory.

        Returns
        -------
        ShardedSolution
        """
        done = self._optimise(X)
        columns = [self._starts[query.shard] + query.row for query in done]
        used = [np.flatnonzero(query.weights) for query in done]
        codes = sparse.csr_array(
            (
                np.concatenate([query.weights[own] for query, own in zip(done, used, strict=True)]),
                np.concatenate([own_columns[own] for own_columns, own in zip(columns, used, strict=True)]),
                np.cumsum([0, *map(len, used)]),
            ),
            shape=(len(done), self.n_atoms_),
        )
        codes.sort_indices()
        numbers = (np.array([getattr(query, name) for query in done]) for name in ("objective", "gap", "rounds"))
        return ShardedSolution(codes, *numbers, np.array([query.certified for query in done]))

    def codes(self, X):
        """CSR codes of the queries, columns in the order of the shards."""
        return self.solve(X).codes

    def residuals(self, X):
        """Class residuals ‖y − X_i c_i‖, (n_queries, n_classes)."""
        return np.array([query.per_class(class_residuals) for query in self._optimise(X)])

    def decision_function(self, X):
        """Decision values of the rule; larger is better. Shapes as in the classifier's own."""
        values = self._decisions(X)
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

    def predict_proba(self, X):
        """Softmax of the decision values over the classifier's ``temperature``."""
        return softmax(self._decisions(X) / self.estimator.temperature, axis=1)

    def predict(self, X):
        """Label of the class that represents each query best."""
        return self.classes_[np.argmax(self._decisions(X), axis=1)]

    def _decisions(self, X):
        rule = RULES[self.estimator.rule]
        return np.array([query.per_class(rule) for query in self._optimise(X)])
