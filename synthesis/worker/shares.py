# SPDX-License-Identifier: Apache-2.0
# How many operators the tasks have, and in which order the kinds follow each other. Loads no library.

# The paper's shares, in percent by number of torch operators; `transformers` are modules that are tasks by themselves.
SHARES = {"1": 3.4, "2": 83.8, "3": 7.6, "4": 2.8, "5": 1.2, "transformers": 1.2}
_PERIOD = 1000  # candidates after which the sequence of kinds repeats


def kinds_of(shares, length=_PERIOD):
    """A sequence in which every prefix contains each kind according to its share, rounded: the most overdue is next."""
    total, counts, sequence = sum(shares.values()), dict.fromkeys(shares, 0), []
    for at in range(1, length + 1):
        kind = max(shares, key=lambda k: shares[k] / total * at - counts[k])
        counts[kind] += 1
        sequence.append(kind)
    return sequence
