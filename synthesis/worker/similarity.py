# SPDX-License-Identifier: Apache-2.0
# The greatest similarity of a program to any of many: 2 * LCS / (sum of the lengths) of their tokens.
#
# Counts of tokens bound the ratio from above, so most programs are left out without comparing them. Above FLOOR
# the answer is exact: nothing is left out whose bound reaches it. Below, it is the best of the most promising.
import numpy as np

FLOOR = 0.9
_BINS = 64
_PROMISING = 24  # compared in any case, so that an answer below FLOOR is meaningful


def _masks(sequence):
    masks = {}
    for at, token in enumerate(sequence):
        masks[token] = masks.get(token, 0) | (1 << at)
    return masks


def _common(masks, length, other):
    """The length of the longest common subsequence, 64 and more tokens at a time (Hyyro's bit-parallel rule)."""
    full = (1 << length) - 1
    row = full
    for token in other:
        matched = row & masks.get(token, 0)
        row = ((row + matched) | (row - matched)) & full
    return length - row.bit_count()


def ratio(a, b):
    """The similarity of two sequences of tokens, between 0 and 1."""
    return 2 * _common(_masks(a), len(a), b) / (len(a) + len(b)) if a or b else 1.0


class Index:
    """Programs by their tokens. Equal sequences are kept once. Sorted at the first question after a change."""

    def __init__(self):
        self._ids, self._known, self._sequences, self._names = {}, {}, [], []
        self._lengths = self._counts = None

    def __len__(self):
        return len(self._sequences)

    def add(self, name, sequence):
        """Adds a program."""
        sequence = tuple(self._ids.setdefault(token, len(self._ids)) for token in sequence)
        if sequence not in self._known:
            self._known[sequence] = len(self._sequences)
            self._sequences.append(sequence)
            self._names.append(name)
            self._lengths = None

    def _bins(self, sequence):
        bins = np.bincount([token % _BINS for token in sequence], minlength=_BINS)
        return np.minimum(bins, 255).astype(np.uint8)

    def _prepare(self):
        order = sorted(range(len(self)), key=lambda i: len(self._sequences[i]))
        self._sequences = [self._sequences[i] for i in order]
        self._names = [self._names[i] for i in order]
        self._lengths = np.array([len(s) for s in self._sequences])
        self._counts = np.stack([self._bins(s) for s in self._sequences])

    def _bounds(self, sequence):
        """Upper bounds for the programs whose length allows FLOOR, and the number of the first of them."""
        length, reach = len(sequence), FLOOR / (2 - FLOOR)
        low, high = np.searchsorted(self._lengths, [length * reach, length / reach + 1])
        shared = np.minimum(self._counts[low:high], self._bins(sequence)).sum(axis=1, dtype=np.uint16)
        return 2.0 * shared / (self._lengths[low:high] + length), low

    def most_similar(self, sequence):
        """The greatest similarity and the program's name; (0, "") if none is near."""
        if not self._sequences:
            return 0.0, ""
        if self._lengths is None:
            self._prepare()
        sequence = tuple(self._ids.get(token, -1) for token in sequence)
        bounds, low = self._bounds(sequence)
        masks, best, name = _masks(sequence), 0.0, ""
        for tried, at in enumerate(np.argsort(-bounds, kind="stable")):
            if bounds[at] <= best or (tried >= _PROMISING and bounds[at] < FLOOR):
                break
            other = self._sequences[low + at]
            found = 2 * _common(masks, len(sequence), other) / (len(sequence) + len(other))
            if found > best:
                best, name = found, self._names[low + at]
        return best, name
