"""Our ranking of the methods beside the paper's, which can be compared even if the features differ."""

from collections.abc import Sequence
from dataclasses import dataclass

from ancr.comparison.cells import Cell
from ancr.comparison.split_sources import SplitSource
from ancr.paper.published import PRINTED


@dataclass(frozen=True)
class Ranking:
    """Methods on one data set from best to worst, as run here and as printed.

    Attributes
    ----------
    title : str
        Data set and setting.
    ours, printed : list of (str, float)
        Method and accuracy, best first, for the methods that were run here and are in the paper.
    agreement : float
        Kendall's τ of the two rankings: 1 means the same, 0 unrelated, −1 reversed.
    """

    title: str
    ours: list[tuple[str, float]]
    printed: list[tuple[str, float]]
    agreement: float


def make_rankings(sources: Sequence[SplitSource], cells: Sequence[Cell]) -> list[Ranking]:
    """A `Ranking` for each data set of the paper with at least three methods run under protocol ``paper``."""
    rankings = [_ranking(source, cells) for source in sources if source.name in PRINTED]
    return [ranking for ranking in rankings if ranking is not None]


def _ranking(source: SplitSource, cells: Sequence[Cell]) -> Ranking | None:
    from scipy.stats import kendalltau

    ours: dict[str, list[float]] = {}
    for cell in cells:
        if (cell.dataset, cell.setting, cell.protocol) == (source.name, source.typical, "paper"):
            ours.setdefault(cell.method, []).append(cell.accuracy)
    shown = {method: values[source.typical] for method, values in PRINTED[source.name].items() if method in ours}
    if len(shown) < 3:
        return None
    means = {method: sum(ours[method]) / len(ours[method]) for method in shown}
    agreement = kendalltau(list(means.values()), list(shown.values())).statistic

    def best_first(pairs: dict[str, float]) -> list[tuple[str, float]]:
        return sorted(pairs.items(), key=lambda pair: -pair[1])

    note = f" on {source.features}" if "substitute" in source.features else ""
    return Ranking(f"{source.title}, {source.typical}{note}", best_first(means), best_first(shown), float(agreement))
