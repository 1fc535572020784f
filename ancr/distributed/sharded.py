"""Too many atoms for one machine: a classifier whose dictionary is stored in files that the workers read.

`ancr.distributed.shards` describes how a query finds its optimum over them.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from distributed import get_client
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ancr._core.files import PathLike
from ancr.axes.problem import Problem
from ancr.axes.rules import class_residuals
from ancr.axes.spaces import Space
from ancr.certificate.tolerances import not_certified
from ancr.dictionary.atoms import kind_of_labels
from ancr.dictionary.coordinates import Dictionary
from ancr.dictionary.products import Queries
from ancr.distributed.shards import Description, Question, Shard, ShardAnswer, ShardedQuery, joint_length, price
from ancr.solvers.choice import find_solver
from ancr.solvers.working_set.pricing import settle

# Queries whose candidates the client holds at once.
BLOCK_QUERIES = 256
# Atoms that a round may add to a query, over all shards.
ATOMS_PER_ROUND = 64
# A linear space learns nothing from samples but their length.
_NO_SAMPLES = np.zeros((1, 1))


@dataclass(frozen=True)
class ShardedSolution:
    """Codes over all shards, with the certificate that covers all their atoms.

    Attributes
    ----------
    codes : CSR array of shape (n_queries, n_atoms)
        Columns in the order of the shards and of the rows in them.
    objective, gap, n_iter, converged : ndarray of shape (n_queries,)
        As in `ancr.certificate.solution.Solution`; an iteration prices all atoms once.

    Examples
    --------
    >>> solution = clf.solve(queries)  # of a fitted ShardedClassifier  # doctest: +SKIP
    >>> solution.gap.max(), solution.converged.all()  # doctest: +SKIP
    """

    codes: sparse.csr_array
    objective: np.ndarray
    gap: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray


class ShardedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose atoms are stored in files that only workers read.

    Pricing all atoms takes one task per file, in which a worker streams the file and sends back the few atoms that can
    improve a query. The result is the optimum over all atoms, certified as on one machine. Losing a worker costs the
    time of its tasks; another worker reads the file, so all workers must be able to access all files.

    Parameters
    ----------
    estimator : classifier of ancr
        Provides the settings: quadratic, ``alpha``, set, rule, ``space``, ``temperature``. The set must be the
        simplex, or the non-negative one with a ridge.
    tol : float, default=1e-8
        Relative gap that every query must reach, in double precision for files of any precision.
    device : str or None, default=None
        The PyTorch device on which workers price atoms, such as ``"cuda"`` where each has a GPU; None is NumPy.

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

    Examples
    --------
    >>> from ancr import ANCRClassifier
    >>> from ancr.distributed import ShardedClassifier
    >>> clf = ShardedClassifier(ANCRClassifier(alpha=1e-3))
    >>> clf.fit(["atoms0.npy", "atoms1.npy"], ["labels0.npy", "labels1.npy"])  # doctest: +SKIP
    >>> clf.predict(queries)  # doctest: +SKIP
    """

    def __init__(self, estimator: Any, *, tol: float = 1e-08, device: str | None = None) -> None:
        self.estimator = estimator
        self.tol = tol
        self.device = device

    def fit(self, paths: Sequence[PathLike], labels: Any, sample_weight: None = None) -> Self:
        """Have the workers read each file once, to learn its shape and classes and check that its numbers are finite.

        Parameters
        ----------
        paths : list of str
            Files of atoms: ``.npy``, ``.zarr`` or ``.parquet``.
        labels : list or str
            One ``.npy`` file or array of labels for each path; for parquet, the name of the column that holds them.
        sample_weight : None
            Atoms on shards have no weights: anything else is refused.

        Returns
        -------
        self
        """
        if sample_weight is not None:
            raise ValueError("sample_weight: atoms on shards have no weights; a classifier in memory takes them")
        self._check_settings()
        if isinstance(paths, str) or not hasattr(paths, "__len__"):
            raise ValueError(f"paths must be a list of files, got {paths!r}")
        self.shards_ = self._named_shards(paths, [labels] * len(paths) if isinstance(labels, str) else list(labels))
        if self._space.lift:
            length = joint_length(self._on_workers(Shard.lengths, [()] * len(self.shards_)))
            space = self._space.prepare(_NO_SAMPLES, length=length)
            self.shards_ = [replace(shard, space=space) for shard in self.shards_]
        found: list[Description] = self._on_workers(Shard.describe, [()] * len(self.shards_))
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
        self._origin: np.ndarray | None = None
        if not (self._space.normalize or self._problem.has_origin):
            # Nothing fixes an origin, so atoms and queries are measured from their mean, as a classifier does.
            self._origin = np.sum([description.total for description in found], axis=0) / self.n_atoms_
            self.shards_ = [replace(shard, origin=self._origin) for shard in self.shards_]
            self._longest += float(np.linalg.norm(self._origin))
        return self

    def _named_shards(self, paths: Sequence[PathLike], labels: list[Any]) -> list[Shard]:
        if not len(paths) or len(labels) != len(paths):
            raise ValueError(
                f"labels must hold one entry for each of the {len(paths)} paths, at least one, got {len(labels)}"
            )
        own = [str(each) if hasattr(each, "__fspath__") else each for each in labels]
        space = self._space.prepare(_NO_SAMPLES)
        return [Shard(path, each, space, device=self.device) for path, each in zip(map(str, paths), own, strict=True)]

    def _check_settings(self) -> None:
        if not isinstance(self.tol, Real) or not self.tol > 0.0:
            raise ValueError(f"tol must be a positive number, got {self.tol!r}")
        is_linear = self._space.is_linear  # first, because it validates the estimator's parameters
        quadratic, constraint = self._problem.quadratic, self._problem.constraint
        strict = constraint.sums_to_one or quadratic.ridge > 0.0
        able = constraint.plain and constraint.nonnegative and strict and self._problem.relaxation is None
        exact = able and find_solver(self.estimator.solver, self._problem).is_exact
        exact = exact and not (quadratic.blocks or quadratic.absolute)
        linear = "a linear space to be used on shards; store the rows of its own space in the files instead"
        needs = {
            "solver='exact', no ℓ1 term, no class blocks, no relaxation and constraint='simplex', or 'nonnegative' "
            "with alpha > 0, to be used on shards": exact,
            f"{linear} (Space.rows)": is_linear,
            "class_weight=None to be used on shards, whose atoms have no weights": self.estimator.class_weight is None,
            "a rule that learns nothing to be used on shards": not self.estimator.make_rule().learns,
        }
        for need, met in needs.items():
            if not met:
                raise ValueError(f"estimator must have {need}, got {self.estimator!r}")

    @property
    def _space(self) -> Space:
        return self.estimator.make_space()

    @property
    def _problem(self) -> Problem:
        # Settings do not depend on the atoms; only class terms, which are refused, depend on the number of classes.
        return self.estimator.problem(Dictionary.build(np.eye(2), [0, 1]))

    def _on_workers(self, function: Callable[..., Any], arguments: Sequence[tuple]) -> list[Any]:
        """``[function(shard, *its arguments)]``; as long as the workers stay the same, so does the worker of a file."""
        client = get_client()
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        futures = []
        for i, (shard, own) in enumerate(zip(self.shards_, arguments, strict=True)):
            # Where all workers are gone for the moment, the work waits for the next one.
            preferred = [workers[i % len(workers)]] if workers else None
            futures.append(
                client.submit(function, shard, *own, workers=preferred, allow_other_workers=bool(workers), pure=False)
            )
        return client.gather(futures)

    def _optimise(self, X: Any) -> list[ShardedQuery]:
        """One `ShardedQuery` per query, at its optimum."""
        check_is_fitted(self, "shards_")
        X = check_array(X, dtype=np.float64, input_name="X")
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have the {self.n_features_in_} features of the shards, got {X.shape[1]}")
        X = self.shards_[0].space.rows(X)
        X = X if self._origin is None else X - self._origin
        done: list[ShardedQuery] = []
        for start in range(0, len(X), BLOCK_QUERIES):
            done += self._optimise_block(X[start : start + BLOCK_QUERIES])
        unmet = sum(not query.certified for query in done)
        if unmet:
            warnings.warn(not_certified(unmet, len(done), self.tol), ConvergenceWarning, stacklevel=3)
        return done

    def _optimise_block(self, rows: np.ndarray) -> list[ShardedQuery]:
        quadratic, constraint = self._problem.quadratic, self._problem.constraint
        block = [ShardedQuery(row, self.classes_, quadratic, constraint, self.tol) for row in rows]
        settle(block, self._priced_by_workers)
        return block

    def _priced_by_workers(self, queries: list[ShardedQuery]) -> Iterable[tuple[ShardAnswer, ...]]:
        """What each shard answers about queries: for each query, one `ShardAnswer` per shard."""
        most = max(8, ATOMS_PER_ROUND // len(self.shards_))
        residuals, levels = (np.array([getattr(query, name) for query in queries]) for name in ("residual", "level"))
        held = [[query.row[query.shard == number] for query in queries] for number in range(len(self.shards_))]
        questions = [(self._longest, Question(residuals, levels, own), most) for own in held]
        return zip(*self._on_workers(price, questions), strict=True)

    def solve(self, X: Any) -> ShardedSolution:
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
        used = [np.flatnonzero(query.code) for query in done]
        codes = sparse.csr_array(
            (
                np.concatenate([query.code[own] for query, own in zip(done, used, strict=True)]),
                np.concatenate([own_columns[own] for own_columns, own in zip(columns, used, strict=True)]),
                np.cumsum([0, *map(len, used)]),
            ),
            shape=(len(done), self.n_atoms_),
        )
        codes.sort_indices()
        names = ("objective", "gap", "rounds", "certified")
        objective, gap, rounds, certified = (np.array([getattr(query, name) for query in done]) for name in names)
        return ShardedSolution(codes, objective, gap, rounds, certified)

    def codes(self, X: Any) -> sparse.csr_array:
        """CSR codes of the queries, columns in the order of the shards."""
        return self.solve(X).codes

    def residuals(self, X: Any) -> np.ndarray:
        """Class residuals ‖y − X_i c_i‖, (n_queries, n_classes)."""
        return np.array([query.per_class(class_residuals) for query in self._optimise(X)])

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values of the rule; larger is better. Shapes are those of the classifier."""
        values = self._decisions(X)
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

    def predict_proba(self, X: Any) -> np.ndarray:
        """Softmax of the decision values over the classifier's ``temperature``, or its mean over several."""
        return self.estimator.temperatures.probabilities(self._decisions(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of `predict_proba`, (n_queries, n_classes)."""
        return self.estimator.temperatures.log_probabilities(self._decisions(X))

    def predict(self, X: Any) -> np.ndarray:
        """Label of the class that represents each query best."""
        return self.classes_[np.argmax(self._decisions(X), axis=1)]

    def _decisions(self, X: Any) -> np.ndarray:
        rule = self.estimator.make_rule()

        def scores(queries: Queries, codes: sparse.csr_array) -> np.ndarray:
            return rule.prepare(queries.dictionary).scores(queries, codes)

        return np.array([query.per_class(scores) for query in self._optimise(X)])
