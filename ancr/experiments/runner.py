"""Run cells that are not there yet."""

import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from ancr.datasets import load_digits, per_class_split
from ancr.experiments.cells import Cell
from ancr.experiments.methods import PROTOCOLS, Method, methods_for


@dataclass(frozen=True)
class Plan:
    """A cell to be: everything that identifies it, and how to get its data."""

    dataset: str
    features: str
    setting: str
    method: str
    protocol: str
    draw: int
    seed: int
    recipe: Method
    load: object

    @property
    def key(self):
        """What identifies the experiment, as `Cell.key`."""
        return (self.dataset, self.features, self.setting, self.method, self.protocol, self.draw)

    def run(self):
        """Fit and score."""
        X, y, Q, truth = self.load()
        start = time.perf_counter()
        clf = self.recipe.build().fit(X, y)
        fitted = time.perf_counter()
        right = clf.predict(Q) == truth
        done = time.perf_counter()
        return Cell(
            *self.key,
            seed=self.seed,
            params=self.recipe.params,
            accuracy=100.0 * float(np.mean(right)),
            n_test=len(truth),
            fit_s=fitted - start,
            predict_s=done - fitted,
        )


def plan_digits(draws=5, per_class=(10, 20, 50, 100)):
    """scikit-learn's digits under the paper's USPS protocol: N a class to train on, the rest to test on."""
    digits = load_digits()

    def split(n, seed):
        train, test = per_class_split(digits.target, n, seed)
        return digits.data[train], digits.target[train], digits.data[test], digits.target[test]

    return [
        Plan("digits", "pixels", f"N={n}", name, protocol, draw, draw, method, partial(split, n, draw))
        for draw in range(draws)
        for n in per_class
        for protocol in PROTOCOLS
        for name, method in methods_for("digits", f"N={n}", protocol).items()
    ]


def run_missing(plans, file, on_cell=lambda cell: None):
    """Run every plan whose cell the file lacks, appending each as it is found; return the cells of all plans."""
    known = {cell.key: cell for cell in file.read()}
    for plan in plans:
        # A cell of other settings does not count; its line stays, and the newer one is read.
        if plan.key not in known or known[plan.key].params != plan.recipe.params:
            known[plan.key] = plan.run()
            file.append(known[plan.key])
        on_cell(known[plan.key])
    return [known[plan.key] for plan in plans]
