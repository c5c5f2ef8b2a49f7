# SPDX-License-Identifier: Apache-2.0
# Pictures for the dataset card: bars as SVG, written directly since no plotting library is installed.
import html
import math

_WIDTH, _ROW, _LABEL, _BAR = 720, 22, 220, 400


def bars(title, rows):
    """A chart of horizontal bars from pairs (label, number)."""
    most = max([value for _, value in rows] + [1])
    height = 40 + _ROW * len(rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif" '
             f'font-size="13">', f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
             f'<text x="10" y="22" font-size="15" font-weight="bold">{html.escape(title)}</text>']
    for at, (label, value) in enumerate(rows):
        y = 36 + at * _ROW
        width = max(1, round(_BAR * value / most))
        parts.append(f'<text x="{_LABEL - 8}" y="{y + 14}" text-anchor="end">{html.escape(str(label))}</text>')
        parts.append(f'<rect x="{_LABEL}" y="{y + 3}" width="{width}" height="14" fill="#4477aa"/>')
        parts.append(f'<text x="{_LABEL + width + 6}" y="{y + 14}">{value:g}</text>')
    return "\n".join([*parts, "</svg>", ""])


def histogram(values):
    """Pairs (range, count) with two ranges per power of ten."""
    counts = {}
    for value in values:
        step = math.floor(2 * math.log10(max(value, 1e-9)))
        counts[step] = counts.get(step, 0) + 1
    if not counts:
        return []
    steps = range(min(counts), max(counts) + 1)
    return [(f"{10 ** (s / 2):.3g} to {10 ** ((s + 1) / 2):.3g}", counts.get(s, 0)) for s in steps]
