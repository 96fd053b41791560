"""What is compared: the figures, their spread over the rounds, and the ratios."""

import dataclasses
import math
import statistics


def percentile(values, share):
    """The value that `share` (0..1) of the values do not exceed, as carillon-bench has it."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclasses.dataclass(frozen=True)
class Figure:
    name: str
    unit: str
    more_is_better: bool


FIGURES = (
    Figure("submit", "jobs/s", True),
    Figure("singles", "jobs/s", True),
    Figure("singles p99", "ms", False),
    Figure("drain", "jobs/s", True),
    Figure("drain cpu", "us/job", False),
    Figure("flow", "jobs/s", True),
    Figure("latency p50", "ms", False),
    Figure("latency p99", "ms", False),
    Figure("burst first", "ms", False),
    Figure("burst last", "ms", False),
)


def number(value):
    if value >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


class Results:
    """Of all systems, by figure; a list of values, one a round."""

    def __init__(self, ours, rivals):
        self.ours = ours  # names
        self.rivals = rivals
        self.values = {}
        self.others = []  # the share of the CPU that programs outside of the comparison had

    def add(self, system, figures):
        for name, value in figures.items():
            if name == "others":
                self.others.append(value)
            else:
                self.values.setdefault((system, name), []).append(value)

    def median(self, system, figure):
        values = self.values.get((system, figure.name))
        return statistics.median(values) if values else None

    def ratio(self, system, figure):
        """How many times better than the best rival; None where there is nothing to compare."""
        mine = self.median(system, figure)
        theirs = [value for rival in self.rivals
                  if (value := self.median(rival, figure)) is not None]
        if not mine or not theirs:
            return None
        return mine / max(theirs) if figure.more_is_better else min(theirs) / mine

    def rows(self):
        for figure in FIGURES:
            if any(self.median(system, figure) is not None for system in self.ours + self.rivals):
                yield figure

    def to_json(self):
        return [{"figure": figure.name, "unit": figure.unit,
                 "values": {system: self.values[system, figure.name]
                            for system in self.ours + self.rivals
                            if (system, figure.name) in self.values},
                 "ratio_to_best_peer": {system: self.ratio(system, figure) for system in self.ours}}
                for figure in self.rows()]

    def to_table(self):
        """In Markdown: medians, with least and most where there was more than one round."""
        heads = [*self.ours, *self.rivals, *(f"{system} ÷ best peer" for system in self.ours)]
        lines = ["| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
        for figure in self.rows():
            cells = [self.cell(system, figure) for system in self.ours + self.rivals]
            for system in self.ours:
                ratio = self.ratio(system, figure)
                cells.append("–" if ratio is None else f"{ratio:.2f} ×")
            lines.append(f"| {figure.name}, {figure.unit} | " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def cell(self, system, figure):
        values = self.values.get((system, figure.name))
        if not values:
            return "–"
        text = number(statistics.median(values))
        return text if len(values) == 1 else f"{text} ({number(min(values))}–{number(max(values))})"
