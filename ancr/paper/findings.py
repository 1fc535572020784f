"""The results in sentences, and our ranking of the methods beside the paper's, for the top of the report.

Rankings can be compared even if the features differ.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.stats import kendalltau

from ancr._core.messages import joined
from ancr.comparison.cells import Cell
from ancr.comparison.split_sources import SplitSource
from ancr.paper.paper_tables import Entry, make_tables
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
        Kendall's tau of the two rankings: 1 means the same, 0 unrelated, −1 reversed.
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
    ours: dict[str, list[float]] = {}
    for cell in cells:
        if (cell.key.dataset, cell.key.setting, cell.key.protocol) == (source.name, source.typical, "paper"):
            ours.setdefault(cell.key.method, []).append(cell.measured.accuracy)
    shown = {method: values[source.typical] for method, values in PRINTED[source.name].items() if method in ours}
    if len(shown) < 3:
        return None
    means = {method: sum(ours[method]) / len(ours[method]) for method in shown}
    agreement = kendalltau(list(means.values()), list(shown.values())).statistic

    def best_first(pairs: dict[str, float]) -> list[tuple[str, float]]:
        return sorted(pairs.items(), key=lambda pair: -pair[1])

    note = f" on {source.features}" if "substitute" in source.features else ""
    return Ranking(f"{source.title}, {source.typical}{note}", best_first(means), best_first(shown), float(agreement))


def make_findings(sources: Sequence[SplitSource], cells: Sequence[Cell], rankings: Sequence[Ranking]) -> list[str]:
    """Sentences for the top of the report, computed from the cells.

    Parameters
    ----------
    sources : sequence of SplitSource
        The data sets.
    cells : sequence of Cell
        The results on them.
    rankings : sequence of Ranking
        Rankings of the methods.
    """
    findings: list[str | None] = []
    for source in sources:
        results = [cell for cell in cells if cell.key.dataset == source.name]
        if results:
            findings += [*_against_printed(source, results), *_stopped_against_exact(source, results)]
            findings.append(_best(source, results))
    findings += [_order(ranking) for ranking in rankings]
    return [sentence for sentence in [*findings, _certified(cells)] if sentence]


def _entries(source: SplitSource, cells: Sequence[Cell], protocol: str) -> dict[tuple[str, str], Entry]:
    """``{(method, setting): Entry}`` of one protocol."""
    rows = make_tables([source], cells)[0].rows
    # In the table of the large sets the column of a data set is named after its title.
    return {(row.method, key): entry for row in rows if row.protocol == protocol for key, entry in row.entries.items()}


def _against_printed(source: SplitSource, cells: Sequence[Cell]) -> list[str]:
    entries = _entries(source, cells, "paper")
    gaps = {key: entry.difference for key, entry in entries.items() if entry.difference is not None}
    if not gaps or "substitute" in source.features:
        return []
    (method, setting), widest = max(gaps.items(), key=lambda item: abs(item[1]))
    near = sum(abs(gap) <= 0.15 for gap in gaps.values())
    return [
        f"{source.title}: {near} of {len(gaps)} numbers are within 0.15 points of the printed ones; the largest "
        f"difference is {widest:+.2f} ({method}, {setting})."
    ]


def _stopped_against_exact(source: SplitSource, cells: Sequence[Cell]) -> list[str]:
    stopped, exact = (_entries(source, cells, protocol) for protocol in ("paper", "exact"))
    keys = [key for key in stopped if key[0] == "ANCR" and key in exact]
    early = any(cell.key.method == "ANCR" and cell.given.params.get("solver") == "admm" for cell in cells)
    if not keys or not early:
        return []

    def values(entries: dict[tuple[str, str], Entry]) -> str:
        return " / ".join(f"{entries[key].mean:.2f}" for key in keys)

    return [
        f"{source.title}: ANCR as published, with ADMM stopped early, scores {values(stopped)}; the certified optimum "
        f"of the same model scores {values(exact)} (columns {' / '.join(key[1] for key in keys)})."
    ]


def _best(source: SplitSource, cells: Iterable[Cell]) -> str | None:
    accuracies: dict[tuple[str, str], list[float]] = {}
    for cell in cells:
        if cell.key.setting == source.typical:
            accuracies.setdefault((cell.key.method, cell.key.protocol), []).append(cell.measured.accuracy)
    if not accuracies:
        return None
    means = {key: sum(values) / len(values) for key, values in accuracies.items()}
    highest = max(means.values())
    first = [f"{method} ({protocol} protocol)" for (method, protocol), mean in means.items() if mean > highest - 1e-9]
    return f"{source.title}, {source.typical}: the highest accuracy is {highest:.2f} %, by {joined(first)}."


def _first(order: Sequence[tuple[str, float]]) -> str:
    """Methods that share the first rank."""
    return joined([method for method, value in order if value > order[0][1] - 1e-9])


def _order(ranking: Ranking) -> str:
    return (
        f"{ranking.title}: Kendall's tau between our ranking of the {len(ranking.ours)} methods and the paper's is "
        f"{ranking.agreement:.2f}; best here: {_first(ranking.ours)}; best in the paper: {_first(ranking.printed)}."
    )


def _certified(cells: Iterable[Cell]) -> str | None:
    measured = [cell.measured for cell in cells if cell.key.protocol == "exact"]
    exact = [(each.n_test, each.certified) for each in measured if each.certified is not None]
    if not exact:
        return None
    total, certified = sum(n for n, _ in exact), sum(round(share * n) for n, share in exact)
    return f"Exact protocol: {certified} of {total} codes are certified optima by their duality gap."
