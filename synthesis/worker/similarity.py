# SPDX-License-Identifier: Apache-2.0
# The greatest similarity of a program to any of many: 2 * LCS / (sum of the lengths) of their tokens.
#
# Lengths and counts of tokens bound the ratio from above, so most programs are skipped without comparing them;
# rapidfuzz compares the others. Whether a program above FLOOR exists is exact: no program whose bound exceeds it is
# skipped. The answer is the best of the most promising, or else the best above FLOOR. Each token is kept as one
# character, the form that rapidfuzz compares fastest.
import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Indel

FLOOR = 0.9
_BINS = 512
_PROMISING = 64  # always compared, so that an answer below FLOOR is meaningful
_UNKNOWN = chr(0x10FFFF)  # a token of no program in the index


def ratio(a, b):
    """The similarity of two sequences of tokens, between 0 and 1."""
    return Indel.normalized_similarity(a, b)


class Index:
    """Programs by their tokens. Equal sequences are kept once. Sorted at the first question after a change."""

    def __init__(self):
        self._letters, self._names, self._texts, self._lengths, self._counts = {}, {}, [], None, None

    def __len__(self):
        return len(self._names)

    def add(self, name, sequence):
        """Adds a program."""
        text = "".join(self._letters.setdefault(token, chr(len(self._letters))) for token in sequence)
        self._names.setdefault(text, name)
        self._lengths = None

    def _prepare(self):
        texts = sorted(self._names, key=len)
        self._texts, self._lengths = np.array(texts, object), np.array([len(text) for text in texts])
        self._counts = np.zeros((_BINS, len(texts)), np.min_scalar_type(max(_bins(text).max() for text in texts)))
        for at, text in enumerate(texts):
            self._counts[:, at] = _bins(text)

    def _bounds(self, text):
        """Upper bounds for the programs whose length allows FLOOR, and the number of the first of them."""
        reach = FLOOR / (2 - FLOOR)
        low, high = np.searchsorted(self._lengths, [len(text) * reach, len(text) / reach + 1])
        counts = np.minimum(_bins(text), np.iinfo(self._counts.dtype).max).astype(self._counts.dtype)
        shared = np.zeros(high - low, np.promote_types(np.min_scalar_type(len(text)), counts.dtype))
        for letter in np.flatnonzero(counts):
            # numpy takes the minimum of two arrays 7 times as fast as that of an array and a number
            shared += np.minimum(self._counts[letter, low:high], np.full(high - low, counts[letter]))
        return shared / ((self._lengths[low:high] + len(text)) / 2), low

    def most_similar(self, sequence):
        """A similarity and the program's name, above FLOOR if there is one above it; (0, "") if none is near."""
        if not self._names:
            return 0.0, ""
        if self._lengths is None:
            self._prepare()
        text = "".join(self._letters.get(token, _UNKNOWN) for token in sequence)
        bounds, low = self._bounds(text)
        most = min(_PROMISING, len(bounds))
        first = np.argpartition(bounds, len(bounds) - most)[-most:] if most else np.zeros(0, int)
        best, name = self._best(text, low + first, 0.0)
        if best > FLOOR:
            return best, name
        bounds[first] = 0.0
        return max((best, name), self._best(text, low + np.flatnonzero(bounds > FLOOR), FLOOR))

    def _best(self, text, places, cutoff):
        """The greatest similarity of at least `cutoff` among these programs, and the program."""
        chosen = process.extractOne(text, self._texts[places].tolist(), scorer=Indel.normalized_similarity,
                                    score_cutoff=cutoff)
        return (chosen[1], self._names[chosen[0]]) if chosen else (0.0, "")


def _bins(text):
    letters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return np.bincount(letters % _BINS, minlength=_BINS)
