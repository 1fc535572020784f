"""The map of all samples: where they lie, and what colours them."""

import threading
from typing import Any

import numpy as np

from ancr.studio.actions import ActionError
from ancr.studio.layouts import grained
from ancr.studio.views import Views


class SampleMap:
    """Places and colours of all samples.

    Parameters
    ----------
    views : Views
        What a page shows of samples.
    """

    def __init__(self, views: Views) -> None:
        self.views, self.jobs = views, views.jobs
        self._principal: np.ndarray | None = None
        self._lock = threading.Lock()

    def places(self, layout: str) -> dict[str, Any]:
        """Where samples lie, by number: ``x`` to the right and ``y`` upwards, from 0 to 65,535; and which are held out.

        Parameters
        ----------
        layout : str
            ``"pca"``, worked out at the first call, or ``"tsne"``, once the job ``layout`` has found it.
        """
        if layout == "pca":
            with self._lock:
                if self._principal is None:
                    self._principal = grained(self.jobs.directions())
            places, laid_out = self._principal, len(self._principal)
        else:
            found = self.jobs.results.get("layout") if layout == "tsne" else None
            if found is None:
                raise ActionError("There is no such map yet.")
            places, laid_out = found["places"], found["laid_out"]
        x, y = places.T.tolist()
        return {"x": x, "y": y, "laid_out": laid_out, "closed": sorted(self.views.state.closed)}

    def colours(self, by: str) -> dict[str, Any]:
        """What colours samples: for each the place of its class among ``names``, or its suspicion in per cent.

        Parameters
        ----------
        by : str
            ``"label"``, ``"guess"`` or ``"doubt"``; a sample without one has -1.
        """
        state, names = self.views.state, list(self.views.state.classes)
        codes = [-1] * len(state.names)
        if by == "doubt":
            for index, doubt in self.views.suspects().items():
                codes[index] = round(100.0 * doubt)
            return {"names": [], "codes": codes}
        if by not in ("label", "guess"):
            raise ActionError("Samples cannot be coloured by this.")
        place = {name: number for number, name in enumerate(names)}
        if by == "label":
            codes = [-1 if label is None else place.get(label, -1) for label in state.labels]
            for index in state.marks["excluded"]:
                codes[index] = -1
        else:
            for index, (label, _) in self.jobs.guesses.items():
                codes[index] = place.get(label, -1) if state.labels[index] is None else -1
        return {"names": names, "codes": codes}
