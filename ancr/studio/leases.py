"""Who is shown which sample: no two tabs are given the same one, until a tab has not been heard of for long."""

import time

# Seconds for which a sample is a tab's own after it was shown there.
LEASE = 600.0


class Leases:
    """Samples that are open in tabs.

    Examples
    --------
    >>> from ancr.studio.leases import Leases
    >>> leases = Leases()
    >>> leases.give("left", [3])
    >>> leases.is_free(3, "left"), leases.is_free(3, "right")
    (True, False)
    >>> leases.give("left", [4])
    >>> leases.is_free(3, "right")
    True
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[str, float]] = {}

    def is_free(self, sample: int, tab: str) -> bool:
        """Whether a tab may be given a sample."""
        owner, end = self._held.get(sample, (tab, 0.0))
        return owner == tab or end < time.monotonic()

    def give(self, tab: str, samples: list[int]) -> None:
        """A tab shows these samples, and no others."""
        end = time.monotonic() + LEASE
        self._held = {sample: held for sample, held in self._held.items() if held[0] != tab}
        self._held.update((sample, (tab, end)) for sample in samples)
