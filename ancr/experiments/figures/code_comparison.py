"""A test image that NRC misclassifies and ANCR classifies correctly: codes, class residuals, largest atoms."""

from dataclasses import dataclass

import numpy as np

from ancr.experiments.figures.drawing import BLUE, GREY, LIGHT, ORANGE, Drawing, new_figure

_DIGIT, _ATOMS, _SETTING = 8, 6, "N=50"


@dataclass(frozen=True)
class Case:
    """A query and the two fitted classifiers; ``atoms`` are rows of the data set."""

    draw: int
    row: int
    position: int
    atoms: np.ndarray
    labels: np.ndarray
    classifiers: dict


def code_comparison(sources):
    """The figure, if USPS is among the sources and such an image exists."""
    usps = next((source for source in sources if source.name == "usps"), None)
    case = usps and find_case(usps)
    return case and _draw(usps, case)


def find_case(source, draws=10):
    """The first test "8" that exact NRC misclassifies and exact ANCR does not, in the first draw that has one."""
    from ancr import ANCRClassifier, NRCClassifier

    for draw in range(draws):
        split = source.split(_SETTING, draw)
        train, test = source.indices(_SETTING, draw)
        positions = np.flatnonzero(split.truth == _DIGIT)
        classifiers = {"NRC": NRCClassifier(), "ANCR": ANCRClassifier(alpha=1e-3)}
        predicted = {
            name: clf.fit(split.X, split.y).predict(split.queries[positions]) for name, clf in classifiers.items()
        }
        found = positions[(predicted["NRC"] != _DIGIT) & (predicted["ANCR"] == _DIGIT)]
        if len(found):
            return Case(draw, test[found[0]], int(found[0]), train, split.y, classifiers)
    return None


def _draw(source, case):
    query = source.bunch.data[case.row][None]
    figure = new_figure(9.5, 7.2)
    above, below = figure.subfigures(2, 1, height_ratios=[1, 2.6])
    _draw_atoms(above, source, case, query)
    axes = below.subplots(2, 2, sharey="row")
    sentences = []
    for (upper, lower), (name, clf) in zip(axes.T, case.classifiers.items(), strict=True):
        code, residuals = clf.codes(query).toarray()[0], clf.residuals(query)[0]
        predicted = int(clf.predict(query)[0])
        _draw_code(upper, code, case.labels, f"{name}: code")
        _draw_residuals(lower, residuals, predicted, f"{name} predicts {predicted}: class residuals")
        used = [int(np.count_nonzero(code[case.labels == label])) for label in (predicted, _DIGIT)]
        others = f" and {used[0]} of class {predicted}" if predicted != _DIGIT else ""
        sentences.append(f"{name} predicts {predicted}, with {used[1]} atoms of class {_DIGIT}{others}")
    caption = (
        f"USPS, 50 training images per class (draw {case.draw}): test image {case.position} (counted from 0), an "
        f"“{_DIGIT}”. {'; '.join(sentences)}. Both codes are certified optima; ANCR at λ = 0.001."
    )
    return Drawing("An “8” that NRC misclassifies and ANCR does not", caption, figure)


def _draw_atoms(figure, source, case, query):
    """The query, and the atoms with the largest weights in both codes, with their classes."""
    axes = figure.subplots(2, _ATOMS + 1)
    for row, (name, clf) in zip(axes, case.classifiers.items(), strict=True):
        explanation = clf.explain(query, top=_ATOMS)[0]
        _show(row[0], source.picture(case.row), f"test {case.position}")
        row[0].set_ylabel(name, rotation=0, ha="right", va="center", fontweight="bold")
        for axis in row[1:]:
            axis.set_visible(False)
        for axis, index, weight, label in zip(
            row[1:], explanation.indices, explanation.weights, explanation.labels, strict=False
        ):
            axis.set_visible(True)
            _show(axis, source.picture(case.atoms[index]), f"class {label}: {weight:.2f}")


def _show(axis, image, title):
    axis.imshow(image, cmap="gray_r", interpolation="nearest")
    axis.set_title(title, fontsize=8, pad=2)
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)


def _draw_code(axis, code, labels, title):
    for label in np.unique(labels):
        members = np.flatnonzero((labels == label) & (code > 0))
        colour = ORANGE if label == _DIGIT else GREY
        axis.vlines(_positions(labels)[members], 0, code[members], color=colour, linewidth=1.2)
    edges = np.arange(0, len(labels) + 1, 50)
    axis.set(title=title, xlim=(0, len(labels)), xticks=edges[:-1] + 25, xticklabels=np.unique(labels))
    axis.set(xlabel="class of the atom", ylabel="weight")
    axis.set_xticks(edges, minor=True)
    axis.grid(False, axis="x")
    axis.set_axisbelow(True)
    axis.grid(True, axis="x", which="minor")
    axis.tick_params(axis="x", length=0)


def _positions(labels):
    """Position of each atom when the atoms are sorted by class."""
    positions = np.empty(len(labels), int)
    positions[np.argsort(labels, kind="stable")] = np.arange(len(labels))
    return positions


def _draw_residuals(axis, residuals, predicted, title):
    bars = axis.bar(np.arange(len(residuals)), residuals, color=LIGHT)
    bars[_DIGIT].set_facecolor(ORANGE)
    bars[predicted].set(edgecolor=BLUE, linewidth=2, hatch="//")
    axis.set(
        title=title, xticks=np.arange(len(residuals)), xlabel="class (hatched: smallest residual; orange: true class)"
    )
    axis.set_ylabel("residual")
    axis.grid(False, axis="x")
    axis.set_axisbelow(True)
