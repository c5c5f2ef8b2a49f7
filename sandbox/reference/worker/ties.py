# SPDX-License-Identifier: Apache-2.0
# What operators leave open: which of several equal elements topk, sort, kthvalue, median and mode select.
#
# An output that is such an index is right if it selects an equal value and no element twice (`settle`). All other
# outputs that depend on the choice are not determined (`mark_open`).
import math

import torch

import chunks
import modes
import operators as op


class _Selection:
    """One call. `values`: (rows, n) in float64; `indices`: (rows, k) of the selected ones."""

    def __init__(self, values, indices, dim, kept):
        self.dim, self.kept, self.shape = dim, kept, indices.shape
        self.values = values.movedim(dim, -1).reshape(-1, values.shape[dim]).contiguous()
        self.indices = self.rows(indices)

    def rows(self, indices):
        """The axis of the selection last, the others joined."""
        at = indices if self.kept else indices.unsqueeze(self.dim)
        return at.movedim(self.dim, -1).reshape(self.values.shape[0], -1)

    def shaped(self, rows):
        """The inverse of `rows`."""
        moved = list(self.shape) if self.kept else [*self.shape[:self.dim], 1, *self.shape[self.dim:]]
        moved.append(moved.pop(self.dim))
        return rows.reshape(moved).movedim(-1, self.dim).reshape(self.shape)

    def farthest(self):
        """For each index, that of the equal element farthest from it; itself if there is no other."""
        order = self.values.sort(dim=-1, stable=True)
        chosen = self.values.gather(-1, self.indices)
        last = self.values.shape[-1] - 1
        ends = [torch.searchsorted(order.values, chosen, right=right).sub_(int(right)).clamp_(0, last)
                for right in (False, True)]
        low, high = (order.indices.gather(-1, end) for end in ends)
        return torch.where(self.indices - low >= high - self.indices, low, high)

    def settled(self, given):
        """`given`, an answer in the form of `indices`, with those indices where it is as right as they are."""
        inside = (given >= 0) & (given < self.values.shape[-1])
        chosen, own = (self.values.gather(-1, at) for at in (given.where(inside, 0), self.indices))
        ordered = given.sort(dim=-1).values
        once = (ordered[:, 1:] != ordered[:, :-1]).all(-1, keepdim=True)
        return torch.where(inside & once & (chosen == own), self.indices, given)


class _Selections(modes.Float64):
    """Records the selections in `found`. `other`: selects the farthest equal element instead of torch's."""

    def __init__(self, other=False):
        super().__init__()
        self.found, self.other = [], other

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = super().__torch_dispatch__(func, types, args, kwargs)
        if not op.selects(func, args, kwargs or {}) or args[0].dim() == 0 or args[0].numel() == 0:
            return out
        dim, kept = op.selected_dim(func, args, kwargs or {})
        selection = _Selection(args[0], out[1], dim, kept)
        if self.other:
            selection.indices = selection.farthest()
            out = out[0], selection.shaped(selection.indices)
        self.found.append(selection)
        return out

    def selection_of(self, out):
        """The selection whose indices an output consists of, or None."""
        if out.is_floating_point():
            return None
        same = (s for s in self.found if math.prod(s.shape) == out.numel()
                and bool((s.shaped(s.indices).reshape(-1) == out.reshape(-1)).all()))
        return next(same, None)


def mark_open(task, inputs, parameters, reference, sums):
    """Makes the deviation infinite where the choice among equal elements decides an output that is no index itself."""
    mode = _Selections(other=True)
    for rows, outs in task.references(inputs, parameters, mode):
        for total, exact, out in zip(sums, reference, outs):
            if mode.selection_of(out) is not None:
                continue
            for s, e, o in chunks.chunks(total[rows], exact[rows], out):
                s.masked_fill_(chunks.deviation(o, e) > 0, math.inf)
        mode.found.clear()


def settle(task, inputs, parameters, outputs):
    """Replaces indices in `outputs` by the reference's where they select equal values. Returns whether any changed."""
    changed, mode = False, _Selections()
    for rows, outs in task.references(inputs, parameters, mode):
        for given, out in zip(outputs, outs):
            if (selection := mode.selection_of(out)) is None:
                continue
            own = given[rows]
            settled = selection.shaped(selection.settled(selection.rows(own.reshape(selection.shape).long())))
            settled = settled.reshape(own.shape).to(own.dtype)
            changed = changed or not torch.equal(settled, own)
            own.copy_(settled)
        mode.found.clear()
    return changed
