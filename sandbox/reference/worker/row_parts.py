# SPDX-License-Identifier: Apache-2.0
# Divides the evaluations of a huge task along the first axis if no row depends on another: the float64 reference
# and the perturbed evaluations of a whole task need several times the memory of its tensors.
import chunks
from refusals import Refused, place

_COUNT = 8


class RowParts:
    """`count` ranges of `extent` rows; by default one range of everything."""

    def __init__(self, count=1, extent=0):
        self.count, self.extent = count, extent

    def __len__(self):
        return self.count

    def __iter__(self):
        """Indices of the parts for the first axis."""
        if self.count == 1:
            return iter([...])
        ends = [self.extent * k // self.count for k in range(self.count + 1)]
        return iter([slice(*pair) for pair in zip(ends, ends[1:])])

    def cuts(self, value):
        return self.count > 1 and value.dim() > 0 and value.shape[0] == self.extent

    def cut(self, values, rows):
        """These rows of the values that have them; the others are whole."""
        return [v[rows] if self.cuts(v) else v for v in values]

    def joined(self, pairs):
        """Whole outputs from pairs (rows, outputs of these rows)."""
        whole = None
        for rows, outs in pairs:
            whole = whole or [o.new_empty(self.extent, *o.shape[1:]) for o in outs]
            for target, out in zip(whole, outs):
                target[rows].copy_(out)
        return whole


def parts_of(task, inputs, parameters):
    """Parts for a task that uses much of its device, if its rows are proven to be independent."""
    size = sum(t.numel() * t.element_size() for t in (*inputs, *task.outputs))
    extents = {o.shape[0] if o.dim() else 0 for o in task.outputs}
    extent = extents.pop()
    if size < task.device.whole_bytes or extents or extent < 2 or task.private:
        return RowParts()
    parts = RowParts(min(_COUNT, extent), extent)
    try:
        with place("forward, on a part of its inputs"):
            right = task.run_in(None, inputs, parameters)
            proven = (_are_alike(task, parts, inputs, parameters, right)
                      and _are_independent(task, parts, inputs, parameters, right))
    except Refused:
        proven = False
    return parts if proven else RowParts()


def _are_alike(task, parts, inputs, parameters, right):
    """Whether a part of the inputs produces that part of the outputs."""
    for rows in parts:
        outs = task.run_in(None, parts.cut(inputs, rows), parameters)
        wanted = [r[rows] for r in right]
        if [o.shape for o in outs] != [w.shape for w in wanted]:
            return False
        if not all(chunks.nearly_equal(o, w) for o, w in zip(outs, wanted)):
            return False
    return True


def _are_independent(task, parts, inputs, parameters, right):
    """Whether the outputs of a part keep every bit when any other part of the inputs changes.

    The binary digits of the parts' numbers decide which of them change together, so that for each pair of parts one
    changes while the other stays.
    """
    seed = 3  # seeds 1 and 2 drew the sample and the survey's other values
    for digit in range((len(parts) - 1).bit_length()):
        for kept in (0, 1):
            seed += 1
            stays = [(k >> digit & 1) == kept for k in range(len(parts))]
            mixed = _mixed(task, parts, inputs, stays, seed)
            if mixed is None:
                return False
            outs = task.run_in(None, mixed, parameters)
            for rows, stayed in zip(parts, stays):
                if stayed and not all(chunks.equal(o[rows], r[rows]) for o, r in zip(outs, right)):
                    return False
            del mixed, outs
    return True


def _mixed(task, parts, inputs, stays, seed):
    """A separate draw with the parts of `inputs` that stay; None if the draw does not differ from `inputs`."""
    drawn = task.draw(seed)
    mixed = [drawn[at] if parts.cuts(value) else value for at, value in zip(task.tensor_at, inputs)]
    for new, old in zip(mixed, inputs):
        if new is old:
            continue
        for rows, stayed in zip(parts, stays):
            if stayed:
                new[rows].copy_(old[rows])
            elif chunks.equal(new[rows], old[rows]):
                return None
    return mixed
