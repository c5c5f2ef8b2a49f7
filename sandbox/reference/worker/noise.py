# SPDX-License-Identifier: Apache-2.0
# Noise for perturbed evaluations, from one bank per device.
import math
import random

import torch

import chunks

_SEED = 20260


class Noise:
    """Signs times magnitudes in [1/2, 1]: never near zero, so that no single draw makes a deviation vanish.

    `sparing` keeps infinities, which noise of the other sign would turn into NaN. It costs a pass.
    """

    sparing = False

    def __init__(self, elements):
        self.places = random.Random(_SEED)  # torch's generator takes ten times as long for one number
        self.size = elements
        self.bank = self._bank(elements, torch.Generator().manual_seed(_SEED))

    @staticmethod
    def _bank(elements, generator):
        span, where = 2 * elements + 4099, generator.device
        signs = torch.randint(0, 2, (span,), generator=generator, dtype=torch.float32, device=where) * 2 - 1
        return signs * (0.5 + 0.5 * torch.rand(span, generator=generator, device=where))

    def take(self, shape):
        count = math.prod(shape)
        if count > self.size:
            wanted = -(-count // self.bank.numel())
            return self.bank.repeat(wanted)[:count].view(shape)
        start = int(self.places.random() * (self.bank.numel() - count + 1))
        return self.bank[start:start + count].view(shape)

    def _spared(self, scale):
        return scale.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0) if self.sparing else scale

    def add(self, value, scale, amplitude):
        """Adds noise of `amplitude` times `scale` to a tensor in place."""
        return value.addcmul_(self._spared(scale), self.take(value.shape), value=amplitude)

    def added(self, value, amplitude):
        """A copy with noise relative to itself."""
        return torch.addcmul(value, self._spared(value), self.take(value.shape), value=amplitude)


def _side_by_side(a, b):
    """Whether equal places in memory hold corresponding elements."""
    return a.is_contiguous() and b.is_contiguous() or chunks.dense(a) and a.stride() == b.stride()


def _flat(value):
    """All elements of a dense tensor in the order of memory."""
    return value.as_strided((value.numel(),), (1,))


class ChunkedNoise(Noise):
    """Noise from a bank of bounded size on the device: a large tensor uses it piece by piece."""

    def __init__(self, elements, place):
        super().__init__(0)
        self.size = elements
        self.bank = self._bank(elements, torch.Generator(place).manual_seed(_SEED))

    def add(self, value, scale, amplitude):
        if value.numel() <= self.size:
            return super().add(value, scale, amplitude)
        if not _side_by_side(value, scale):
            return value.copy_(self.add(value.contiguous(), scale.contiguous(), amplitude))
        for v, s in zip(_flat(value).split(self.size), _flat(scale).split(self.size)):
            v.addcmul_(self._spared(s), self.take(v.shape), value=amplitude)
        return value

    def added(self, value, amplitude):
        if value.numel() <= self.size:
            return super().added(value, amplitude)
        if not chunks.dense(value):
            value = value.contiguous()
        out = torch.empty_like(value)
        for o, v in zip(_flat(out).split(self.size), _flat(value).split(self.size)):
            torch.addcmul(v, self._spared(v), self.take(v.shape), value=amplitude, out=o)
        return out


_CHUNK = 2**25  # size of a device's bank, in elements
_LEAST = 2**20  # of a CPU's: intermediates may be larger than the tensors of a signature
_noises = {}  # banks of all tasks by device and size


def noise_for(elements, place=torch.device("cpu"), sparing=False):
    """The noise for tensors of so many elements, from its beginning: what this process did before has no influence."""
    size = _CHUNK if place.type != "cpu" else max(_LEAST, 1 << (elements - 1).bit_length())
    if (place, size) not in _noises:
        _noises[place, size] = Noise(size) if place.type == "cpu" else ChunkedNoise(size, place)
    known = _noises[place, size]
    known.places.seed(_SEED)
    known.sparing = sparing
    return known
