"""All samples of a project: searched, filtered and sorted by number, and described a window at a time.

A page holds the numbers of what it found, and asks for the samples that it shows.
"""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ancr.samples.sample_set import Samples
from ancr.studio.actions import ActionError
from ancr.studio.views import Views

# Samples that one request may ask for.
_MOST_ASKED = 400
# A column, how its cells compare, and with what: "body mass">4000, species=Gentoo.
_COMPARED = re.compile(r'(?:"([^"]+)"|([^\s"<>=]+))(<=|>=|=|<|>)(?:"([^"]*)"|(\S+))|"([^"]*)"|(\S+)')
_COMPARE: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "<": np.less,
    ">": np.greater,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "=": lambda cells, value: np.isclose(cells, value, rtol=1e-5, atol=0.0),  # pages show six digits
}


class Search:
    """Words and cells of samples, to search in; made when they are first asked for.

    Parameters
    ----------
    samples : Samples
        The data.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.sample_set import Samples
    >>> from ancr.studio.browse import Search
    >>> cells = np.array([[3.5, "a red fox"], [4.0, "a hen"]], dtype=object)
    >>> search = Search(Samples.of(cells, columns=("mass", "what")))
    >>> search.matches("red").tolist(), search.matches("mass>3.7").tolist(), search.matches("what=hen 4").tolist()
    ([True, False], [False, True], [False, True])
    """

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def matches(self, text: str) -> np.ndarray:
        """Which samples have everything that a text asks for.

        A word is looked for in names and texts, in any case, and a number in all cells; ``column=value``, and ``<``,
        ``>``, ``<=``, ``>=``, in the cells of that column. What has spaces stands in quotes.
        """
        found = np.ones(len(self.samples), bool)
        for match in _COMPARED.finditer(text):
            quoted, column, sign, value, plain, phrase, word = match.groups()
            place = self._column(quoted or column) if sign else None
            wanted = value if value is not None else plain
            if place is None:
                whole = phrase if phrase is not None else word or match.group(0)
                found &= self._has(whole.casefold())
            else:
                found &= self._compares(place, sign, wanted)
        return found

    def _column(self, name: str) -> int | None:
        columns = [one.casefold() for one in self.samples.columns]
        return columns.index(name.casefold()) if name.casefold() in columns else None

    def _has(self, word: str) -> np.ndarray:
        found = np.fromiter((word in text for text in self._texts), bool, len(self._texts))
        number = _number(word)
        if number is not None and self.samples.columns:
            found |= _COMPARE["="](self._numbers, number).any(axis=1)
        return found

    def _compares(self, place: int, sign: str, value: str) -> np.ndarray:
        number = _number(value)
        if number is not None:
            with np.errstate(invalid="ignore"):
                return _COMPARE[sign](self._numbers[:, place], number)
        if sign != "=":
            raise ActionError(f"{value} is not a number, so nothing is {sign} it.")
        wanted = value.casefold()
        cells = self.samples.vectors[:, place].tolist()
        return np.array([isinstance(cell, str) and wanted in cell.casefold() for cell in cells], bool)

    @cached_property
    def _texts(self) -> list[str]:
        """The name of each sample and its cells that are texts."""
        names, vectors = self.samples.names.tolist(), self.samples.vectors
        if vectors.dtype.kind != "O":
            return [name.casefold() for name in names]
        rows = (
            [name, *(cell for cell in row if isinstance(cell, str))] for name, row in zip(names, vectors, strict=True)
        )
        return ["\n".join(row).casefold() for row in rows]

    @cached_property
    def _numbers(self) -> np.ndarray:
        """The cells that are numbers; NaN elsewhere."""
        vectors = self.samples.vectors
        if vectors.dtype.kind != "O":
            return vectors
        return np.array(
            [[np.nan if cell is None or isinstance(cell, str) else cell for cell in row] for row in vectors]
        )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


class Browse:
    """Samples by search, filter and order.

    Parameters
    ----------
    views : Views
        What a page shows of a sample.
    """

    def __init__(self, views: Views) -> None:
        self.views, self.search = views, Search(views.source.data)

    def order(self, wanted: Mapping[str, str], matching: np.ndarray) -> dict[str, Any]:
        """The numbers of samples, counted from 0, in the order that a page wants.

        Parameters
        ----------
        wanted : mapping
            ``status``, ``label``, ``guess``, ``least`` and ``most`` (of the confidence of a guess) filter; ``sort`` is
            ``number``, ``name``, ``label``, ``guess``, ``confidence``, ``doubt`` or the place of a column; ``down``
            is ``1`` for the largest first.
        matching : ndarray of bool
            What a search has found.
        """
        kept = matching & self._of_status(wanted.get("status", ""))
        if label := wanted.get("label"):
            kept &= np.array([given == label for given in self.views.state.labels], bool)
        labels, sure = self._guesses()
        if guess := wanted.get("guess"):
            kept &= labels == guess
        for name, compare in (("least", np.greater_equal), ("most", np.less_equal)):
            if wanted.get(name):
                with np.errstate(invalid="ignore"):
                    kept &= compare(sure, _share(wanted[name]))
        numbers = self._sorted(np.flatnonzero(kept), wanted.get("sort") or "number", wanted.get("down") == "1")
        return {"numbers": numbers.tolist(), "total": len(self.views.state.names)}

    def _of_status(self, status: str) -> np.ndarray:
        state, n = self.views.state, len(self.views.state.names)
        if status in ("", "all"):
            return np.ones(n, bool)
        if status == "waiting":
            return state.waiting.copy()
        if status in ("labelled", "changed"):
            pairs = zip(state.labels, state.given, strict=True)
            return np.array(
                [now is not None and (status == "labelled" or now != before) for now, before in pairs], bool
            )
        found = np.zeros(n, bool)
        of_marks = {name: list(state.marks[name]) for name in ("skipped", "excluded")}
        every = {**of_marks, "held out": self.views.jobs.held_out, "suspicious": list(self.views.suspects())}
        if status not in every:
            raise ActionError("There is no such status.")
        found[np.asarray(every[status], int)] = True
        return found

    def _guesses(self) -> tuple[np.ndarray, np.ndarray]:
        """Label and confidence of the guess for each sample; an empty label and NaN where there is none."""
        labels, sure = np.full(len(self.views.state.names), "", object), np.full(len(self.views.state.names), np.nan)
        places = [(i, guess) for i, guess in self.views.jobs.guesses.items() if self.views.state.labels[i] is None]
        if places:
            where = np.array([i for i, _ in places])
            labels[where] = [label for _, (label, _) in places]
            sure[where] = self.views.capped(np.array([chance for _, (_, chance) in places]))
        return labels, sure

    def _sorted(self, numbers: np.ndarray, by: str, down: bool) -> np.ndarray:
        if by == "number":
            return numbers[::-1] if down else numbers
        keys = self._keys(by)[numbers]
        if keys.dtype.kind == "O":
            absent = np.array([key is None or key == "" for key in keys], bool)
            ranks = {key: rank for rank, key in enumerate(sorted({str(key).casefold() for key in keys}))}
            keys = np.array([float(ranks[str(key).casefold()]) for key in keys])
        else:
            absent = np.isnan(keys)
        order = np.lexsort((numbers, -keys if down else keys, absent))  # what has no value comes last
        return numbers[order]

    def _keys(self, by: str) -> np.ndarray:
        """What samples are sorted by."""
        state, vectors = self.views.state, self.views.source.data.vectors
        if by.isascii() and by.isdecimal() and int(by) < vectors.shape[1]:
            column = vectors[:, int(by)]
            if column.dtype.kind != "O" or not any(isinstance(cell, str) for cell in column):
                return column.astype(float)
            return column
        if by == "doubt":
            doubts = np.full(len(state.names), np.nan)
            for index, doubt in self.views.suspects().items():
                doubts[index] = doubt
            return doubts
        found = {"name": state.names, "label": state.labels}.get(by)
        if found is not None:
            return np.array(found, object)
        labels, sure = self._guesses()
        if by not in ("guess", "confidence"):
            raise ActionError("Samples cannot be sorted by this.")
        return labels if by == "guess" else sure

    def samples(self, numbers: str) -> list[dict[str, Any]]:
        """Samples by their numbers: ``"3,4,10-12"``."""
        wanted: list[int] = []
        for part in numbers.split(","):
            first, _, last = part.partition("-")
            ends = [int(one) for one in (first, last or first) if one.isascii() and one.isdecimal() and len(one) < 10]
            if len(ends) != 2 or not 0 <= ends[0] <= ends[1] < len(self.views.state.names):
                raise ActionError("There are no such samples.")
            if len(wanted) + ends[1] - ends[0] >= _MOST_ASKED:
                raise ActionError(f"At most {_MOST_ASKED} samples can be asked for at once.")
            wanted += range(ends[0], ends[1] + 1)
        return [self.views.describe(index) for index in wanted]


def _share(text: str) -> float:
    number = _number(text)
    if number is None or not 0.0 <= number <= 1.0:
        raise ActionError("A confidence is a number from 0 to 1.")
    return number
