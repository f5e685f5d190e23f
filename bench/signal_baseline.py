"""The plain baseline beside a detector: range, rate of change and pairwise correlation of signals. NumPy alone.

A window's score is by how much the worst signal exceeds what it did in benign windows:

- range: how far its values are outside of the least and the greatest one, in shares of their range;
- rate: its greatest step, on the ring of its 2^bits values, over the greatest benign one, less 1;
- correlation: how far its mean in the window is from a line by the mean of the signal that it correlates with most (|r| of .9
  or more), over the greatest benign residual, less 1.

The level comes from the benign windows by halves, as a detector's do: the greatest score of a half beside bounds of the other.
"""

import numpy as np

RULES = ["range", "rate", "correlation"]
ALIKE = 0.9


def per_window(signals, can_id, data, window):
    """(least, greatest, greatest step, mean) x signals x windows. Where no frame has the ID, values are the last ones."""
    windows = len(data) // window
    table = np.zeros((4, len(signals), windows))
    for row, signal in enumerate(signals):
        at = np.flatnonzero(can_id[:windows * window] == signal.can_id)
        if len(at) == 0:
            continue
        values = signal.of(data[at]).astype(np.int64)
        steps = np.abs(np.diff(values, prepend=values[0]))
        steps = np.minimum(steps, (1 << signal.bits) - steps)
        here, first = np.unique(at // window, return_index=True)
        counts = np.diff(first, append=len(at))
        last = np.concatenate([values[first[:1]], values[first + counts - 1]])  # first of all, then of each window
        held = last[np.searchsorted(here, np.arange(windows))]
        table[:, row] = held, held, np.zeros(windows), held
        table[:, row, here] = (np.minimum.reduceat(values, first), np.maximum.reduceat(values, first),
                               np.maximum.reduceat(steps, first), np.add.reduceat(values, first) / counts)
    return table


class Bounds:
    """What signals do at most in these windows. Values are whole numbers: nothing is smaller than 1."""

    def __init__(self, table):
        least, greatest, step, mean = table
        self.least, self.greatest, self.step = (edge[:, None] for edge in (least.min(axis=1), greatest.max(axis=1), step.max(axis=1)))
        with np.errstate(invalid="ignore", divide="ignore"):
            alike = np.abs(np.nan_to_num(np.atleast_2d(np.corrcoef(mean))))  # a constant correlates with nothing
        np.fill_diagonal(alike, 0)
        self.partner = alike.argmax(axis=1)
        self.paired = alike.max(axis=1)[:, None] >= ALIKE
        self.mean = mean.mean(axis=1, keepdims=True)
        away = mean - self.mean
        others = away[self.partner]
        self.slope = (away * others).sum(axis=1, keepdims=True) / np.maximum((others**2).sum(axis=1, keepdims=True), 1e-9)
        self.residual = self.residuals(mean).max(axis=1, keepdims=True)

    def residuals(self, mean):
        away = mean - self.mean
        return np.abs(away - self.slope * away[self.partner])

    def excesses(self, table):
        """Of each rule in each window, that of the worst signal."""
        least, greatest, step, mean = table
        outside = np.maximum(self.least - least, greatest - self.greatest) / np.maximum(self.greatest - self.least, 1)
        faster = step / np.maximum(self.step, 1) - 1
        apart = np.where(self.paired, self.residuals(mean) / np.maximum(self.residual, 1) - 1, 0)
        return np.maximum(np.array([outside, faster, apart]).max(axis=1), 0)


class Baseline:
    def __init__(self, benign):
        half = benign.shape[2] // 2
        one, other = benign[..., :half], benign[..., half:]
        self.bounds = Bounds(benign)
        self.level = max(Bounds(one).excesses(other).max(), Bounds(other).excesses(one).max())

    def judged(self, table):
        """Score of each window, and the rule that it is of."""
        excesses = self.bounds.excesses(table)
        return excesses.max(axis=0), [RULES[rule] for rule in excesses.argmax(axis=0)]
