"""Where samples lie on a map: in two dimensions, as the classifier compares them."""

import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors

from ancr.axes.spaces import Space
from ancr.samples.column_plan import ColumnPlan
from ancr.studio.apart import Report
from ancr.studio.labelled import rows_of

# Samples that directions are found on, and that neighbourhoods are laid out of; of more, a random part.
_MOST_DIRECTIONS, _MOST_LAID_OUT = 10_000, 5_000
# Directions that neighbours are looked for in, and neighbours that place a sample which was not laid out.
_DIRECTIONS, _BESIDE = 50, 3
# Places are whole numbers up to this, the same step in both directions.
_GRAIN = 65_535


def principal(samples: np.ndarray, plan: ColumnPlan, space: Space, n_directions: int = 2) -> np.ndarray:
    """Samples along the directions in which they differ most, after columns, power and norm are prepared.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_columns)
        As the data is.
    plan : ColumnPlan
        How columns are prepared; learned here from all samples, so that a map stays as it is when labels come.
    space : Space
        Its power, and whether samples are at unit norm.
    n_directions : int
        Directions to keep; fewer samples or columns have fewer, the rest is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr import Space
    >>> from ancr.samples.column_plan import ColumnPlan
    >>> from ancr.studio.layouts import principal
    >>> line = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> np.abs(principal(line, ColumnPlan(), Space(normalize=False))).round(6).tolist()
    [[5.0, 0.0], [0.0, 0.0], [5.0, 0.0]]
    """
    rows = rows_of(np.asarray(plan.fit(samples)(samples), float), space.power, space.normalize)
    part = _part(len(rows), _MOST_DIRECTIONS)
    found = np.zeros((len(rows), n_directions))
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # samples that are all the same have no variance
        warnings.simplefilter("ignore")
        kept = min(n_directions, len(part), rows.shape[1])
        found[:, :kept] = PCA(kept, random_state=0).fit(rows[part]).transform(rows)
    return found


def neighbourhoods(samples: np.ndarray, plan: ColumnPlan, space: Space, report: Report) -> dict[str, Any]:
    """Samples by t-SNE, which keeps neighbours together; of more than 5,000 the others lie beside their nearest.

    Parameters
    ----------
    samples, plan, space
        As for `principal`.
    report : callable
        ``report(done, total)``.
    """
    report(0, 3)
    rows = principal(samples, plan, space, _DIRECTIONS)
    laid = _part(len(rows), _MOST_LAID_OUT)
    report(1, 3)
    places = np.empty((len(rows), 2))
    places[laid] = _laid_out(rows[laid])
    report(2, 3)
    others = np.setdiff1d(np.arange(len(rows)), laid)
    if len(others):
        near = NearestNeighbors(n_neighbors=_BESIDE).fit(rows[laid])
        distances, beside = near.kneighbors(rows[others])
        weights = 1.0 / (distances + 1e-9 + 1e-3 * distances.max())
        places[others] = np.einsum("ij,ijk->ik", weights, places[laid][beside]) / weights.sum(axis=1)[:, None]
    return {"places": grained(places), "laid_out": len(laid), "version": 1}


def _laid_out(rows: np.ndarray) -> np.ndarray:
    """Rows by t-SNE, from where their first two directions put them."""
    if len(rows) < 5:
        return rows[:, :2]
    first = rows[:, :2] / (rows[:, 0].std() or 1.0) * 1e-4
    method = TSNE(perplexity=min(30.0, (len(rows) - 1) / 3), init=first, random_state=0)
    return method.fit_transform(rows[:, rows.any(axis=0)] if rows.any() else rows)


def _part(n: int, most: int) -> np.ndarray:
    """At most so many of n, at random but always the same."""
    return np.sort(np.random.default_rng(0).permutation(n)[:most])


def grained(places: np.ndarray) -> np.ndarray:
    """Places as whole numbers from 0 to 65,535 in the longer direction, the shorter one in the middle.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.studio.layouts import grained
    >>> grained(np.array([[0.0, 1.0], [2.0, 0.0]])).tolist()
    [[0, 49151], [65535, 16384]]
    """
    low, high = places.min(axis=0), places.max(axis=0)
    extent = float((high - low).max()) or 1.0
    return np.rint(((places - (low + high) / 2.0) / extent + 0.5) * _GRAIN).astype(int)
