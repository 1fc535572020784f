"""The training samples that decided a prediction."""

from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ancr._core.arrays import Array, to_numpy
from ancr._core.thumbnails import png_uri
from ancr.dictionary.products import Queries

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Explanation:
    """The training samples with the largest weights in one query's code, largest first.

    Attributes
    ----------
    label : object
        The predicted class.
    indices : ndarray of int
        Positions of the samples among those given to `fit`.
    weights : ndarray
        Their entries in the code.
    labels : ndarray
        Their classes.
    shares : ndarray
        How much of the query's norm each sample explains for its class: by how much the class residual
        ‖y − X_i c_i‖ would grow without it, over ‖y‖.
    pictures : tuple of str
        The query and the samples as addresses of images, after `illustrated`; empty before.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ANCRClassifier().fit(X[::2], y[::2]).explain(X[1:2], top=2)
    [Explanation(0, because of samples 18, 6)]
    """

    label: object
    indices: np.ndarray
    weights: np.ndarray
    labels: np.ndarray
    shares: np.ndarray
    pictures: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        samples = ", ".join(map(str, self.indices))
        return f"{type(self).__name__}({self.label!s}, because of samples {samples})"

    def to_frame(self) -> "pd.DataFrame":
        """One row per sample as a pandas ``DataFrame``: ``sample``, ``label``, ``weight``, ``share``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ancr import ANCRClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> ANCRClassifier().fit(X, y).explain(X[:1], top=3)[0].to_frame().shape
        (3, 4)
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        columns = {"sample": self.indices, "label": self.labels, "weight": self.weights, "share": self.shares}
        return pd.DataFrame(columns)

    def illustrated(
        self, query: ArrayLike, samples: ArrayLike, image_shape: tuple[int, ...] | None = None
    ) -> "Explanation":
        """The same explanation with images, which a notebook shows.

        Parameters
        ----------
        query : array-like
            The query, as an image or as a row of pixels.
        samples : array-like
            The samples given to `fit`, as images or as rows of pixels.
        image_shape : tuple of int or None
            Height and width, if samples are rows.
        """
        images = [np.asarray(query), *np.asarray(samples)[self.indices]]
        shaped = [image if image_shape is None else image.reshape(image_shape) for image in images]
        return replace(self, pictures=tuple(png_uri(image) for image in shaped))

    def _repr_html_(self) -> str:
        rows = zip(self.indices, self.labels, self.weights, self.shares, strict=True)
        lines = [
            f"<tr><td>{self._picture(place)}</td><td>{index}</td><td>{escape(str(label))}</td><td>{weight:+.4f}</td>"
            f"<td>{share:+.1%}</td></tr>"
            for place, (index, label, weight, share) in enumerate(rows, start=1)
        ]
        head = "<tr><th></th><th>sample</th><th>class</th><th>weight</th><th>share</th></tr>"
        return (
            f"<table><caption>{self._picture(0)} classified as <b>{escape(str(self.label))}</b></caption>"
            f"<thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
        )

    def _picture(self, place: int) -> str:
        if not self.pictures:
            return ""
        style = "height:48px;image-rendering:pixelated;vertical-align:middle"
        return f'<img src="{self.pictures[place]}" alt="" style="{style}">'

    def __str__(self) -> str:
        lines = [f"{self.label}"]
        for index, weight, label, share in zip(self.indices, self.weights, self.labels, self.shares, strict=True):
            lines.append(f"  sample {index:>6}  class {label!s:<12}  weight {weight:+.4f}  share {share:+.1%}")
        return "\n".join(lines)


def explain_block(queries: Queries, codes: Array, predicted: np.ndarray, top: int) -> list[Explanation]:
    """One `Explanation` per query of a block, as NumPy arrays for codes of any library."""
    codes, norms = sparse.csr_array(to_numpy(codes)), np.sqrt(to_numpy(queries.squares))
    ends = zip(codes.indptr[:-1], codes.indptr[1:], predicted, strict=True)
    return [
        _explain(queries, row, norms[row] or 1.0, codes.indices[a:b], codes.data[a:b], label, top)
        for row, (a, b, label) in enumerate(ends)
    ]


def _explain(
    queries: Queries, row: int, norm: float, support: np.ndarray, weights: np.ndarray, label: Any, top: int
) -> Explanation:
    dictionary, strongest = queries.dictionary, np.argsort(-np.abs(weights), kind="stable")[:top]
    shares = np.empty(len(strongest))
    for place, i in enumerate(strongest):
        own = np.flatnonzero(dictionary.labels[support] == dictionary.labels[support[i]])
        own = np.concatenate([[i], own[own != i]])
        with_it, without = queries.lengths_with_and_without(row, support[own], weights[own], 0)
        shares[place] = (without - with_it) / norm
    chosen = support[strongest]
    return Explanation(
        label,
        dictionary.order[chosen],
        weights[strongest],
        to_numpy(dictionary.classes)[dictionary.labels[chosen]],
        shares,
    )
