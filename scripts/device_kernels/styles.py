# SPDX-License-Identifier: Apache-2.0
# How a kernel over rows is written.
from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """`threads` share a row, a block has `rows` of them, one load reads `width` elements.

    keep: where a row is kept between two passes: "registers", "shared" memory, or nowhere ("reread").
    combine: how threads add up: "shuffle", a "tree" in shared memory, or cooperative "group"s.
    """

    threads: int
    rows: int
    width: int
    keep: str = "registers"
    combine: str = "shuffle"

    @property
    def name(self):
        return f"t{self.threads}r{self.rows}w{self.width}-{self.keep}-{self.combine}"


# Threads, rows and width differ in each, so that tasks without a reduction get as many different texts.
STYLES = {
    style.name: style
    for style in [
        Style(32, 8, 4),
        Style(32, 4, 2),
        Style(64, 4, 4),
        Style(128, 2, 4),
        Style(128, 1, 2),
        Style(256, 1, 4),
        Style(256, 2, 1),
        Style(512, 1, 4),
        Style(512, 1, 1),
        Style(1024, 1, 2),
        Style(128, 4, 4, combine="tree"),
        Style(256, 1, 2, combine="tree"),
        Style(512, 1, 2, combine="tree"),
        Style(256, 2, 4, combine="group"),
        Style(64, 2, 2, combine="group"),
        Style(128, 1, 4, "shared"),
        Style(256, 1, 1, "shared", "tree"),
        Style(512, 2, 2, "shared", "group"),
        Style(256, 4, 4, "reread"),
        Style(1024, 1, 1, "reread", "tree"),
        Style(64, 8, 4, "reread", "group"),
        Style(128, 4, 1, "reread"),
    ]
}
