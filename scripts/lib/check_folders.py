# SPDX-License-Identifier: Apache-2.0
"""No include cycle between the folders of one top-level folder.

Run from the checkout's root: python3 scripts/lib/check_folders.py. Prints each cycle with one include per arrow.
A nested folder counts separately: actors/run and actors/run/x are two.
"""

import collections
import os
import sys

import source_tree


def arrows(texts):
    """folder → folder → the includes that lead from one to the other, as (FILE:LINE, included file)."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for path, text in sorted(texts.items()):
        folder, top = os.path.dirname(path), path.split("/")[0]
        for line, included in source_tree.includes(text):
            target = os.path.dirname(included)
            if included in texts and target != folder and included.split("/")[0] == top:
                found[folder][target].append((f"{path}:{line}", included))
    return found


def shortest_way(graph, start, end):
    """The folders from start to end, both included; None if there is no path."""
    came_from = {start: None}
    queue = collections.deque([start])
    while queue:
        folder = queue.popleft()
        if folder == end:
            way = []
            while folder is not None:
                way.append(folder)
                folder = came_from[folder]
            return way[::-1]
        for target in sorted(graph.get(folder, ())):
            if target not in came_from:
                came_from[target] = folder
                queue.append(target)
    return None


def cycles(graph):
    """One shortest cycle through each arrow that is part of a cycle; each cycle once."""
    seen = set()
    for folder in sorted(graph):
        for target in sorted(graph[folder]):
            back = shortest_way(graph, target, folder)
            if back and frozenset(back) not in seen:
                seen.add(frozenset(back))
                yield [folder, *back]


def complaints(texts):
    graph = arrows(texts)
    for cycle in cycles(graph):
        yield f"include cycle between folders: {' -> '.join(cycle)}"
        for folder, target in zip(cycle, cycle[1:]):
            (place, included), *more = graph[folder][target]
            yield f"  {place} includes {included}" + (f" ({len(more)} more from {folder})" if more else "")


def main():
    lines = list(complaints(source_tree.read_sources()))
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
