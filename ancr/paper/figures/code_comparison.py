"""A test image that NRC misclassifies and ANCR classifies correctly: codes, class residuals, largest atoms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ancr._core.thumbnails import png_uri
from ancr.comparison.charts import FIRST, SECOND, Chart, Drawing, bar_chart, picture_strip
from ancr.comparison.split_sources import SplitSource
from ancr.paper.paper_sources import Usps

_DIGIT, _ATOMS, _SETTING = 8, 9, "N=50"


@dataclass(frozen=True)
class Case:
    """A query and the two fitted classifiers; ``atoms`` are rows of the data set."""

    draw: int
    row: int
    position: int
    atoms: np.ndarray
    labels: np.ndarray
    classifiers: dict[str, Any]


def code_comparison(sources: Sequence[SplitSource]) -> Chart | None:
    """The figure, if USPS is among the sources and such an image exists."""
    usps = next((source for source in sources if isinstance(source, Usps)), None)
    case = find_case(usps) if usps else None
    return _draw(usps, case) if usps and case else None


def find_case(source: Usps, draws: int = 10) -> Case | None:
    """The first test "8" that exact NRC misclassifies and exact ANCR does not, in the first draw that has one."""
    from ancr import ANCRClassifier, NRCClassifier

    for draw in range(draws):
        split = source.split(_SETTING, draw)
        positions = np.flatnonzero(split.truth == _DIGIT)
        classifiers = {"NRC": NRCClassifier(), "ANCR": ANCRClassifier(alpha=1e-3)}
        predicted = {
            name: clf.fit(split.X, split.y).predict(split.queries[positions]) for name, clf in classifiers.items()
        }
        found = positions[(predicted["NRC"] != _DIGIT) & (predicted["ANCR"] == _DIGIT)]
        if len(found):
            return Case(draw, split.test[found[0]], int(found[0]), split.train, split.y, classifiers)
    return None


def _draw(source: Usps, case: Case) -> Chart:
    query = source.bunch.data[case.row][None]
    table: list[list[Any]] = [["method", "class", "weight of the class", "class residual"]]
    parts, sentences = [], []
    names = [str(label) for label in np.unique(case.labels)]
    for name, clf in case.classifiers.items():
        code, residuals = clf.codes(query).toarray()[0], clf.residuals(query)[0]
        predicted = int(clf.predict(query)[0])
        weights = [float(code[case.labels == label].sum()) for label in np.unique(case.labels)]
        marked = {predicted: (SECOND, "predicted"), _DIGIT: (FIRST, "true class")}
        parts += [
            _atoms(source, case, query, name, clf),
            bar_chart(f"{name}: weight of each class", names, weights, marked, "class"),
            bar_chart(f"{name} predicts {predicted}: class residuals", names, residuals, marked, "class"),
        ]
        table += [[name, *row] for row in zip(names, weights, residuals.tolist(), strict=True)]
        used = [int(np.count_nonzero(code[case.labels == label])) for label in (predicted, _DIGIT)]
        others = f" and {used[0]} of class {predicted}" if predicted != _DIGIT else ""
        sentences.append(f"{name} predicts {predicted}, with {used[1]} atoms of class {_DIGIT}{others}")
    caption = (
        f"USPS, 50 training images per class (draw {case.draw}): test image {case.position} (counted from 0), an "
        f"“{_DIGIT}”. {'; '.join(sentences)}. Both codes are certified optima; ANCR at λ = 0.001. The smallest "
        "residual decides."
    )
    return Chart("An “8” that NRC misclassifies and ANCR does not", caption, parts, table=table)


def _atoms(source: Usps, case: Case, query: np.ndarray, name: str, clf: Any) -> Drawing:
    """The query, and the atoms with the largest weights, with their classes."""
    why = clf.explain(query, top=_ATOMS)[0]
    pictures = [(png_uri(source.picture(case.row), invert=True), "the query")]
    for index, weight, label in zip(why.indices, why.weights, why.labels, strict=True):
        pictures.append((png_uri(source.picture(case.atoms[index]), invert=True), f"{label}: {weight:.2f}"))
    return picture_strip(f"{name}: class and weight of the largest atoms", pictures)
