"""Summaries of a campaign: what was counted, by family, as text and as Markdown."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

BEGIN, END = "<!-- campaign -->", "<!-- end of campaign -->"
COLUMNS = ("problems", "refused", "queries", "certified", "undecided", "required", "failed")
SHOWN_FAILURES = 6


@dataclass
class Row:
    """Counts of one family, with the worst error and the worst ratio of an error to its claimed gap."""

    counts: Counter = field(default_factory=Counter)
    error: float = 0.0
    excess: float = 0.0

    def add(self, outcome):
        """Count one problem."""
        self.counts.update(outcome.counts)
        self.counts["problems"] += 1
        self.counts["failed"] += bool(outcome.failures)
        self.error, self.excess = max(self.error, outcome.error), max(self.excess, outcome.excess)

    def cells(self):
        """The columns of a table."""
        ratio = "" if not self.excess else "no bound" if self.excess >= 1e300 else f"{self.excess:.1e}"
        return [f"{self.counts[name]:,}" for name in COLUMNS] + [f"{self.error:.1e}", ratio]


class Summary:
    """Outcomes of a campaign, counted as they come."""

    def __init__(self):
        self.total, self.rows = Row(), defaultdict(Row)
        self.kinds, self.examples, self.refusals = Counter(), defaultdict(list), Counter()
        self.slowest = (0.0, -1)

    def add(self, outcome):
        """Count one problem: in the total, and in each family that it was drawn from."""
        for row in (self.total, *(self.rows[item] for item in outcome.families.items())):
            row.add(outcome)
        for failure in outcome.failures:
            kind = _kind(failure)
            self.kinds[kind] += 1
            self.examples[kind].append((outcome.index, failure, outcome.families))
        self.refusals[_without_numbers(outcome.refusal)] += bool(outcome.refusal)
        self.slowest = max(self.slowest, (outcome.seconds, outcome.index))

    @property
    def failed(self):
        """How many problems failed."""
        return self.total.counts["failed"]

    def table(self):
        """Header and lines: all problems, then each family."""
        header = ["family", *COLUMNS, "worst error", "error / gap"]
        axes = list(dict.fromkeys(axis for axis, _ in self.rows))
        lines = [["all", *self.total.cells()]]
        for axis in axes:
            values = sorted(value for name, value in self.rows if name == axis)
            lines += [[f"{axis}: {value}", *self.rows[axis, value].cells()] for value in values]
        return [header, *lines]

    def remarks(self, seed):
        """Sentences on failures, each kind with commands that repeat some of them, on refusals and on the time."""
        for kind, count in self.kinds.most_common():
            yield f"{count:,} × {kind}, for example:"
            for index, failure, families in self.examples[kind][:SHOWN_FAILURES]:
                yield f"    --seed {seed} --only {index}    {failure}    [{', '.join(families.values())}]"
        refused = [(message, count) for message, count in self.refusals.most_common() if message]
        for message, count in refused:
            yield f"{count:,} × refused: {message}"
        skipped = [(what, count) for what, count in self.total.counts.items() if what.startswith("skipped")]
        yield from (f"{count:,} × {what}" for what, count in skipped)
        yield f"slowest problem: {self.slowest[0]:.2f} s, --seed {seed} --only {self.slowest[1]}"

    def text(self, seed):
        """The table in columns, then the remarks."""
        table = self.table()
        widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
        lines = ["  ".join(_padded(line, widths)) for line in table]
        return "\n".join([*lines, "", *self.remarks(seed)])

    def markdown(self, command):
        """The table in Markdown, with the command that made it."""
        header, *lines = ["| " + " | ".join(line) + " |" for line in self.table()]
        rule = "|---" + "|---:" * (len(COLUMNS) + 2) + "|"
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.kinds.most_common()) or "none"
        return "\n".join([f"`{command}`", "", f"Failures: {kinds}.", "", header, rule, *lines])


def replace_block(text, block):
    """A page with what stands between its two marks replaced."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"expected the lines {BEGIN} and {END} in the page")
    return f"{before}{begin}\n\n{block}\n\n{end}{after}"


def _padded(cells, widths):
    first, *others = zip(cells, widths, strict=True)
    return [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]


def _kind(failure):
    """Failures are counted by what is wrong; exceptions by their message."""
    return failure if failure.startswith("exception") else failure.partition(":")[0]


def _without_numbers(message):
    """Messages that differ in their numbers only are counted together."""
    words = message.split()
    return " ".join("…" if any(letter.isdigit() for letter in word) else word for word in words)
