"""Methods compared on one data set of a user: which is best, which are as good, and which are worse."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ancr._core.files import write_text
from ancr._core.messages import shown_time
from ancr.comparison import comparison_page, verdict
from ancr.comparison.cells import Answers, Cell, Measured, seconds
from ancr.comparison.charts import Chart
from ancr.comparison.measures import Measures
from ancr.comparison.runner import Plan
from ancr.comparison.significance import REGION, WIDENING, judge, outcome, paired_gap, wilson_interval
from ancr.comparison.split_sources import UserSource
from ancr.comparison.table_formats import Table

if TYPE_CHECKING:
    import pandas as pd

_SAME = 0.005  # points of accuracy that no table shows
_SYMBOLS = {"best": "★", "as good": "≈", "cannot tell": "?", "worse": ""}


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
        That the method is as good as the best, for all methods together (`ancr.comparison.significance.best_set`); None
        for the method with the highest mean and for those with the same mean.
    behind : float
        With 95 % confidence the method is at most so many points behind the best.
    """

    name: str
    protocol: str
    cells: dict[int, Cell]
    answers: dict[int, Answers]
    p_value: float | None = None
    behind: float = 0.0

    @property
    def measured(self) -> list[Measured]:
        """What came out on each split."""
        return [cell.measured for cell in self.cells.values()]

    @cached_property
    def accuracies(self) -> np.ndarray:
        """Accuracy in percent on each split."""
        return np.array([each.accuracy for each in self.measured])

    @property
    def mean(self) -> float:
        """Mean accuracy in percent."""
        return float(self.accuracies.mean())

    @property
    def sd(self) -> float | None:
        """Standard deviation over the splits; None for one split."""
        return float(self.accuracies.std(ddof=1)) if len(self.accuracies) > 1 else None

    @property
    def is_best(self) -> bool:
        """Whether no method has a higher mean."""
        return self.p_value is None

    @property
    def is_worse(self) -> bool:
        """Whether the method is worse than the best one, beyond chance."""
        return self.mark == "worse"

    @property
    def mark(self) -> str:
        """``"best"``, ``"as good"``, ``"cannot tell"`` or ``"worse"``."""
        return "best" if self.p_value is None else outcome(self.p_value, self.behind)

    @property
    def symbol(self) -> str:
        """The mark as one character: ★, ≈, ? or nothing for a method that is worse."""
        return _SYMBOLS[self.mark]

    @property
    def p_text(self) -> str:
        """The p-value for a table."""
        return "–" if self.p_value is None else "< 0.001" if self.p_value < 1e-3 else f"{self.p_value:.3f}"

    @property
    def behind_text(self) -> str:
        """How many points the method is behind the best at most, for a table."""
        return "–" if self.is_best else f"{self.behind:.1f}"

    @property
    def accuracy_text(self) -> str:
        """Mean and standard deviation for a table."""
        return f"{self.mean:.2f}" if self.sd is None else f"{self.mean:.2f} ± {self.sd:.2f}"

    @property
    def n_tested(self) -> int:
        """Number of different samples that were tested."""
        return len(np.unique(self.pooled("rows"))) if self.answers else sum(each.n_test for each in self.measured)

    @property
    def fit_s(self) -> float:
        """Mean time to fit, the search for settings included, in seconds on one thread."""
        return float(np.mean([each.fit_s for each in self.measured]))

    @property
    def predict_s(self) -> float:
        """Mean time to classify one sample, in seconds on one thread."""
        return sum(each.predict_s for each in self.measured) / sum(each.n_test for each in self.measured)

    @property
    def explains(self) -> bool:
        """Whether the method names the training samples that decided."""
        return any(len(answers.witnesses) for answers in self.answers.values())

    @property
    def chosen(self) -> str:
        """The settings chosen on most splits, as text."""
        texts = [_settings(each.chosen) for each in self.measured]
        return max(dict.fromkeys(texts), key=texts.count)

    def pooled(self, what: str) -> np.ndarray:
        """An array of the answers, joined over the splits."""
        return np.concatenate([getattr(answers, what) for answers in self.answers.values()])

    def right(self, draws: Iterable[int], truth: np.ndarray) -> np.ndarray:
        """Which answers are right, joined over some draws."""
        answers = [self.answers[draw] for draw in draws]
        return np.concatenate([each.predicted == truth[each.rows] for each in answers])

    def errors(self, truth: np.ndarray) -> np.ndarray:
        """Rows of the samples that were classified wrongly, once for each time."""
        rows = self.pooled("rows")
        return rows[self.pooled("predicted") != truth[rows]]


def _measured(measures: Measures | None) -> dict[str, float | None]:
    """Measures as entries of a record."""
    return dict.fromkeys(each.name for each in fields(Measures)) if measures is None else asdict(measures)


def _shown(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _settings(chosen: Mapping[str, Any]) -> str:
    """Chosen settings as text."""
    values = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in chosen.items()}
    return ", ".join(f"{name.rpartition('__')[2]}={value}" for name, value in values.items())


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
    tracebacks : str
        Where in the code they failed, once for each reason.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ancr
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = ancr.compare(X, y, methods=["ANCR", "kNN"], learning_curve=False)
    >>> [result.name for result in comparison.results], comparison.test
    (['ANCR', 'kNN'], "McNemar's test on the answers of all folds")
    """

    source: UserSource
    results: list[MethodResult]
    learning: list[Cell] = field(default_factory=list)
    command: str = ""
    notes: list[str] = field(default_factory=list)
    failed: str = ""
    tracebacks: str = ""

    @classmethod
    def of(cls, source: UserSource, plans: Iterable[Plan], cells: Iterable[Cell]) -> "Comparison":
        """Judge the cells of some plans by their answers."""
        by_key = {cell.key: cell for cell in cells}
        grouped: dict[tuple[str, str], MethodResult] = {}
        for plan in plans:
            if plan.key in by_key:
                empty = MethodResult(plan.method, plan.protocol, {}, {})
                result = grouped.setdefault((plan.method, plan.protocol), empty)
                result.cells[plan.draw] = by_key[plan.key]
                answers = plan.answers_path and Answers.read(plan.answers_path)
                if answers:
                    result.answers[plan.draw] = answers
        ranked = sorted(grouped.values(), key=lambda result: -result.mean)
        return cls(source, _judged(ranked, source))

    @property
    def best(self) -> MethodResult:
        """The method with the highest mean accuracy."""
        return self.results[0]

    @property
    def tied(self) -> list[MethodResult]:
        """The methods with the highest mean accuracy: the best one, and all that equal it."""
        return [result for result in self.results if result.is_best]

    @property
    def test(self) -> str:
        """Name of the significance test."""
        return "McNemar's test" + (" on the answers of all folds" if len(self.best.cells) > 1 else "")

    @property
    def legend(self) -> list[str]:
        """What the signs in a table mean."""
        return [
            f"★ highest; ≈ as good: at most {REGION:g} point behind the best with 95 % confidence.",
            f"? cannot tell with {self.best.n_tested} samples; no mark: worse at the 5 % level.",
            f"{self.test}; all pairs of methods judged together.",
        ]

    @property
    def truth(self) -> np.ndarray:
        """Class number of each sample."""
        return self.source.bunch.target

    @property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return [str(name) for name in self.source.bunch.target_names]

    @property
    def cells(self) -> list[Cell]:
        """The cells of all methods on whole training parts."""
        return [cell for result in self.results for cell in result.cells.values()]

    @property
    def seconds(self) -> float:
        """Time of all cells, each on one thread."""
        return seconds([*self.cells, *self.learning])

    def interval(self, result: MethodResult | None = None) -> tuple[float, float]:
        """95 % interval of a method's accuracy in percent, by Wilson from the samples tested."""
        result = result or self.best
        low, high = wilson_interval(result.n_tested * result.mean / 100, result.n_tested)
        return 100 * low, 100 * high

    def to_frame(self) -> "pd.DataFrame":
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
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        return pd.DataFrame(self.records())

    def measures(self, result: MethodResult) -> Measures | None:
        """What is measured of a method beside its accuracy; None where its answers are not kept."""
        if not result.answers:
            return None
        truth = self.truth[result.pooled("rows")]
        return Measures.of(truth, *map(result.pooled, ("predicted", "chance", "chance_of_truth")))

    def records(self) -> list[dict[str, Any]]:
        """The rows of `to_frame` as dictionaries; needs no pandas."""
        return [
            {
                "method": result.name,
                "protocol": result.protocol,
                "accuracy": result.mean,
                "sd": result.sd,
                "p_value": result.p_value,
                "behind_at_most": None if result.is_best else result.behind,
                "mark": result.mark,
                "fit_s": result.fit_s,
                "predict_s": result.predict_s,
                "splits": len(result.cells),
                "chosen": result.chosen,
                **_measured(self.measures(result)),
            }
            for result in self.results
        ]

    @cached_property
    def answer(self) -> verdict.Verdict:
        """The answer in sentences: which method, how sure, how long, what to do next."""
        return verdict.make_verdict(self)

    @cached_property
    def charts(self) -> list[Chart]:
        """The figures of the report, drawn once: accuracy, confusion, calibration, learning curve."""
        return comparison_page.make_charts(self)

    def table(self) -> Table:
        """The methods as a table for the terminal and for Markdown, CSV and LaTeX files."""
        lines = []
        for result, record in zip(self.results, self.records(), strict=True):
            times = shown_time(result.fit_s), shown_time(result.predict_s)
            accuracy = f"{result.accuracy_text} {result.symbol or ' '}"
            beside = [_shown(record["balanced_accuracy"]), _shown(record["f1"]), _shown(record["log_loss"], 3)]
            lines.append([result.name, result.protocol, accuracy, result.behind_text, *beside, *times])
        header = ["method", "protocol", self.source.typical, "at most behind", "balanced", "F1", "log loss"]
        header += ["training", "per sample"]
        numbers = [["" if value is None else value for value in record.values()] for record in self.records()]
        title = f"{self.source.title}: accuracy in %"
        notes = [*self.legend, "Balanced accuracy and F1: mean over the classes, in %. Times on one thread."]
        return Table(self.source.name, title, header, lines, [list(self.records()[0]), *numbers], notes)

    def to_html(self) -> str:
        """The report as one self-contained page."""
        return comparison_page.page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file, completely or not at all.

        Parameters
        ----------
        path : path-like
            The ``.html`` file.
        """
        write_text(path, self.to_html())

    def __repr__(self) -> str:
        rows = "\n".join(
            f"  {result.symbol or ' '} {result.name:<24} {result.mean:6.2f} %"
            + (f" ± {result.sd:.2f}" if result.sd is not None else "")
            for result in self.results
        )
        return "\n  ".join([f"Comparison on {self.source.title}\n{rows}", *self.legend, self.source.plan.reason])

    def _repr_html_(self) -> str:
        frame = f'srcdoc="{escape(self.to_html(), quote=True)}"'
        return f'<iframe {frame} style="width:100%;height:40rem;border:0" title="Comparison"></iframe>'


def _judged(ranked: Sequence[MethodResult], source: UserSource) -> list[MethodResult]:
    """The results with what can be said of each beside the best."""
    if not ranked:
        return []
    truth = source.bunch.target
    p_values, behind = judge(lambda i, j: _gap(ranked[i], ranked[j], truth), len(ranked))
    highest = ranked[0].mean
    return [
        replace(each, p_value=None if highest - each.mean < _SAME else p, behind=min(most, 100.0))
        for each, p, most in zip(ranked, p_values, behind, strict=True)
    ]


def _gap(ahead: MethodResult, behind: MethodResult, truth: np.ndarray) -> tuple[float, float]:
    """The `paired_gap` of two methods on the splits that both have answered."""
    shared = sorted(set(ahead.answers) & set(behind.answers))
    if not shared:
        return 0.0, 1.0  # nothing is known
    n_samples = len(np.unique(np.concatenate([ahead.answers[draw].rows for draw in shared])))
    widening = WIDENING if len(shared) > 1 else 1.0
    return paired_gap(ahead.right(shared, truth), behind.right(shared, truth), n_samples, widening)
