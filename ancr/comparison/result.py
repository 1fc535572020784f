"""Methods compared on one data set of a user: which is best, and which are not significantly worse."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ancr.comparison.significance import LEVEL, MCNEMAR, T_TEST, corrected_t_test, exact_mcnemar, holm, wilson_interval
from ancr.comparison.split_sources import UserSource, learning_share

_SAME = 0.005  # points of accuracy that no table shows


@dataclass(frozen=True)
class MethodResult:
    """One method on all splits.

    Attributes
    ----------
    name, protocol : str
    cells : dict
        Its `Cell` of each draw.
    answers : dict
        Its `Answers` of each draw; a draw without answers is missing.
    p_value : float or None
        Of the difference to the best method, adjusted by Holm's method; None for the best method itself and for those
        with the same mean.
    """

    name: str
    protocol: str
    cells: dict
    answers: dict
    p_value: float | None = None

    @cached_property
    def accuracies(self):
        """Accuracy in percent on each split."""
        return np.array([cell.accuracy for cell in self.cells.values()])

    @property
    def mean(self):
        """Mean accuracy in percent."""
        return float(self.accuracies.mean())

    @property
    def sd(self):
        """Standard deviation over the splits; None for one split."""
        return float(self.accuracies.std(ddof=1)) if len(self.accuracies) > 1 else None

    @property
    def is_best(self):
        """Whether this is the best method, or as good on average."""
        return self.p_value is None

    @property
    def is_worse(self):
        """Whether the method is significantly worse than the best one."""
        return self.p_value is not None and self.p_value < LEVEL

    @property
    def fit_s(self):
        """Mean time to fit, the search for settings included, in seconds on one thread."""
        return float(np.mean([cell.fit_s for cell in self.cells.values()]))

    @property
    def predict_s(self):
        """Mean time to classify one sample, in seconds on one thread."""
        return sum(cell.predict_s for cell in self.cells.values()) / sum(cell.n_test for cell in self.cells.values())

    @property
    def explains(self):
        """Whether the method names the training samples that decided."""
        return any(len(answers.witnesses) for answers in self.answers.values())

    @property
    def chosen(self):
        """The settings chosen on most splits, as text."""
        texts = [_settings(cell.chosen) for cell in self.cells.values()]
        return max(dict.fromkeys(texts), key=texts.count)

    def pooled(self, what):
        """An array of the answers, joined over the splits."""
        return np.concatenate([getattr(answers, what) for answers in self.answers.values()])


# Settings of the family that are shown only where they differ from these.
_USUAL = {
    "beta": (0.0, 1e-3), "class_weight": (None,), "code": (None,), "constraint": (), "normalize": (True, False),
    "quadratic": ("ridge",), "random_state": (None, 0),
    "relaxation": (None,), "solver": ("exact",), "kw_args": ("{'power': 1.0}",),
}  # fmt: skip


def _settings(chosen):
    """Chosen settings as text, without those that say nothing."""
    told = {
        name.rpartition("__")[2]: value
        for name, value in chosen.items()
        if value not in _USUAL.get(name.rpartition("__")[2], ())
    }
    return ", ".join(f"{name}={_value(value)}" for name, value in told.items())


def _value(value):
    return f"{value:.3g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Comparison:
    """What `ancr.compare` returns: methods on the same splits of one data set, best first.

    Attributes
    ----------
    source : UserSource
        The data.
    results : list of MethodResult
        One per method, best first.
    learning : list of Cell
        Cells on parts of the training parts, for the learning curve.
    command : str
        What makes the report again.
    notes : list of str
        Remarks about this run.
    failed : str
        Which cells failed and why; empty if none did.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ancr
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = ancr.compare(X, y, methods=["ANCR", "kNN"], learning_curve=False)
    >>> [result.name for result in comparison.results], comparison.test
    (['ANCR', 'kNN'], 'corrected resampled t-test')
    """

    source: UserSource
    results: list
    learning: list = field(default_factory=list)
    command: str = ""
    notes: list = field(default_factory=list)
    failed: str = ""

    @classmethod
    def of(cls, source, plans, cells, **more):
        """Judge the cells of some plans; cells of the learning curve are set apart."""
        by_key, grouped = {cell.key: cell for cell in cells}, {}
        for plan in plans:
            if plan.key in by_key and learning_share(plan.setting) is None:
                result = grouped.setdefault(
                    (plan.method, plan.protocol), MethodResult(plan.method, plan.protocol, {}, {})
                )
                result.cells[plan.draw] = by_key[plan.key]
                answers = plan.answers and plan.answers.read(plan)
                if answers:
                    result.answers[plan.draw] = answers
        ranked = sorted(grouped.values(), key=lambda result: -result.mean)
        learning = [cell for cell in cells if learning_share(cell.setting) is not None]
        return cls(source, _judged(ranked, source), learning, **more)

    @property
    def best(self):
        """The method with the highest mean accuracy."""
        return self.results[0]

    @property
    def tied(self):
        """The methods with the highest mean accuracy: the best one, and all that equal it."""
        return [result for result in self.results if result.is_best]

    @property
    def level(self):
        """The methods that are not significantly worse than the best one, without it."""
        return [result for result in self.results[1:] if not result.is_worse]

    @property
    def test(self):
        """Name of the significance test."""
        return T_TEST if len(self.best.cells) > 1 else MCNEMAR

    @property
    def truth(self):
        """Class number of each sample."""
        return self.source.bunch.target

    @property
    def classes(self):
        """Names of the classes."""
        return [str(name) for name in self.source.bunch.target_names]

    @property
    def seconds(self):
        """Time of all cells, each on one thread."""
        cells = [cell for result in self.results for cell in result.cells.values()] + self.learning
        return sum(cell.fit_s + cell.predict_s for cell in cells)

    def interval(self, result=None):
        """95 % interval of a method's accuracy in percent, by Wilson from the samples tested."""
        result = result or self.best
        total = (
            len(np.unique(result.pooled("rows"))) if result.answers else sum(c.n_test for c in result.cells.values())
        )
        low, high = wilson_interval(total * result.mean / 100, total)
        return 100 * low, 100 * high

    def to_frame(self):
        """One row per method as a pandas ``DataFrame``: accuracy, p-value, mark and times.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import ancr
        >>> X, y = load_iris(return_X_y=True)
        >>> frame = ancr.compare(X, y, methods=["CRC", "kNN"], learning_curve=False).to_frame()
        >>> list(frame.columns)[:5]
        ['method', 'protocol', 'accuracy', 'sd', 'p_value']
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install 'ancr[data]'") from error
        return pd.DataFrame(self.records())

    def records(self):
        """The rows of `to_frame` as dictionaries; needs no pandas."""
        return [
            {
                "method": result.name,
                "protocol": result.protocol,
                "accuracy": result.mean,
                "sd": result.sd,
                "p_value": result.p_value,
                "mark": "best" if result.is_best else "worse" if result.is_worse else "not significantly worse",
                "fit_s": result.fit_s,
                "predict_s": result.predict_s,
                "splits": len(result.cells),
                "chosen": result.chosen,
            }
            for result in self.results
        ]

    @property
    def answer(self):
        """The answer in sentences: which method, how sure, how long, what to do next."""
        from ancr.comparison.verdict import make_answer

        return make_answer(self)

    def table(self):
        """The methods as a table for the terminal and for Markdown, CSV and LaTeX files."""
        from ancr.comparison.comparison_table import ComparisonTable

        return ComparisonTable(self)

    def to_html(self):
        """The report as one self-contained page."""
        from ancr.comparison.comparison_page import render

        return render(self)

    def save(self, path):
        """Write the report to a file, completely or not at all.

        Parameters
        ----------
        path : path-like
            The ``.html`` file.
        """
        from ancr._core.files import write_text

        write_text(path, self.to_html())

    def __repr__(self):
        rows = "\n".join(
            f"  {'*' if not result.is_worse else ' '} {result.name:<24} {result.mean:6.2f} %"
            + (f" ± {result.sd:.2f}" if result.sd is not None else "")
            for result in self.results
        )
        title = f"Comparison on {self.source.title} (* best or not significantly worse, {self.test})"
        return f"{title}\n{rows}\n  {self.source.plan.reason}"

    def _repr_html_(self):
        from html import escape

        frame = f'srcdoc="{escape(self.to_html(), quote=True)}"'
        return f'<iframe {frame} style="width:100%;height:40rem;border:0" title="Comparison"></iframe>'


def _judged(ranked, source):
    """The results with their p-values against the first."""
    if not ranked:
        return ranked
    best, others = ranked[0], ranked[1:]
    p_values = holm([_p_value(best, other, source) for other in others])
    return [
        best,
        *(
            replace(other, p_value=None if best.mean - other.mean < _SAME else p)
            for other, p in zip(others, p_values, strict=True)
        ),
    ]


def _p_value(best, other, source):
    shared = sorted(set(best.cells) & set(other.cells))
    if len(shared) == 1:
        pair = [result.answers.get(shared[0]) for result in (best, other)]
        if None in pair:
            return 1.0
        truth = source.bunch.target[pair[0].rows]
        return exact_mcnemar(*(answers.predicted == truth for answers in pair))
    first, second = ([result.cells[draw].accuracy for draw in shared] for result in (best, other))
    cells = [best.cells[draw] for draw in shared]
    sizes = (np.mean([getattr(cell, name) for cell in cells]) for name in ("n_train", "n_test"))
    return corrected_t_test(first, second, *sizes)
