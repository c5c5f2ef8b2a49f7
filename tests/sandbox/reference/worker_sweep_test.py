# SPDX-License-Identifier: Apache-2.0
# Many of torch's operators: each result lies within the bound on enough distributions, and nearly every element has a
# bound.
import itertools
import unittest

import torch
from worker_bound import DISTRIBUTIONS, STORE, bound_of, error_of, spread_of
from worker_support import code, device, places, tasks

SHAPE = (64, 512)
LEAST_DISTRIBUTIONS, HONEST, ONE_UNDECIDED_IN = 3, 0.8, 1024  # as in ingest.hpp
POINTWISE = ("abs exp expm1 exp2 sigmoid tanh sin cos tan atan sinh cosh asinh erf erfc sinc square sign floor ceil "
             "round neg relu").split()
OF_POSITIVE = "sqrt rsqrt log log2 log1p reciprocal lgamma digamma".split()
ACTIVATIONS = ("gelu silu mish hardswish hardtanh hardsigmoid elu selu celu leaky_relu softplus softsign tanhshrink "
               "hardshrink softshrink logsigmoid relu6 glu").split()
OF_ROWS = "sum mean var std logsumexp amax amin cumsum argmax".split()
IMAGE, ROWS, PAIR = "a[0].view(8, 8, 16, 32)", "a[0].view(8, 8, 512)", "a[0], a[0].flip(0)"
HEADS = "x = a[0].view(2, 4, 64, 64)"
CLASSES = "t = torch.arange(64, device=a[0].device) % 10"
LINEAR = "self.w = nn.Parameter(torch.randn(96, 512) / 16); self.b = nn.Parameter(torch.randn(96))"
GAINS = "self.g = nn.Parameter(torch.rand(512) + 0.5); self.b = nn.Parameter(torch.randn(512))"
FORWARDS = {
    "GELU by tanh": "return F.gelu(a[0], approximate='tanh')",
    "softmax": "return F.softmax(a[0], -1)",
    "softmax of columns": "return F.softmax(a[0], 0)",
    "logarithm of softmax": "return F.log_softmax(a[0], -1)",
    "norms of rows": "return torch.linalg.vector_norm(a[0], dim=-1)",
    "sums of sizes": "return torch.linalg.vector_norm(a[0], 1, dim=-1)",
    "sum of all": "return a[0].sum()",
    "variance of all": "return a[0].var()",
    "products": "return a[0].view(64, 64, 8).prod(-1)",
    "running sum of the positive": "return torch.cumsum(a[0] * (a[0] > 0), -1)",
    "normalised rows": "return F.normalize(a[0], dim=-1)",
    "group norm": "return F.group_norm(a[0].view(64, 32, 16), 8)",
    "instance norm": f"return F.instance_norm({IMAGE})",
    "Gram matrix": "return a[0] @ a[0].T",
    "batched product": f"return torch.einsum('bij,bkj->bik', {ROWS}, {ROWS})",
    "pooled maximum": f"return F.max_pool2d({IMAGE}, 3, 2)",
    "pooled mean": f"return F.avg_pool2d({IMAGE}, 3, 2)",
    "pooled norm": f"return F.lp_pool1d({ROWS}, 2, 4)",
    "enlarged": f"return F.interpolate({IMAGE}, scale_factor=2, mode='bicubic')",
    "folded": f"return F.fold(F.unfold({IMAGE}, 3), (16, 32), 3)",
    "attention": HEADS + "; return F.scaled_dot_product_attention(x * 0.5, x, x)",
    "causal attention": HEADS + "; return F.scaled_dot_product_attention(x * 0.5, x, x, is_causal=True)",
    "cross-entropy": CLASSES + "; return F.cross_entropy(a[0], t, reduction='none')",
    "mean cross-entropy": CLASSES + "; return F.cross_entropy(a[0], t)",
    "squared error": f"return F.mse_loss({PAIR})",
    "Huber's loss": f"return F.huber_loss({PAIR}, reduction='none')",
    "divergence": "return F.kl_div(F.log_softmax(a[0], -1), F.softmax(a[0].flip(0), -1), reduction='batchmean')",
    "loss of logits": "return F.binary_cross_entropy_with_logits(a[0], torch.sigmoid(a[0].flip(0)), reduction='none')",
    "triplets": "return F.triplet_margin_loss(a[0][:20], a[0][20:40], a[0][40:60])",
    "cosine": f"return F.cosine_similarity({PAIR})",
    "distances": "return torch.cdist(a[0], a[0].flip(1))",
    "interpolated": f"return torch.lerp({PAIR}, 0.3)",
    "hypotenuse": f"return torch.hypot({PAIR})",
    "power": "return a[0].abs() ** 1.7",
    "cube": "return a[0] ** 3",
    "sum of exponentials": f"return torch.logaddexp({PAIR})",
    "clamped": "return a[0].clamp(-0.5, 0.5)",
    "largest five": "return a[0].topk(5)[0]",
    "relative to all": "return a[0] / torch.norm(a[0], p='fro')",
}
LAYERS = {  # maps a name to forward and attributes
    "linear": ("return F.linear(a[0], self.w, self.b)", LINEAR),
    "two linear": ("return F.gelu(F.linear(a[0], self.w, self.b)) @ self.w", LINEAR),
    "layer norm": ("return F.layer_norm(a[0], (512,), self.g, self.b)", GAINS),
    "RMS norm": ("return F.rms_norm(a[0], (512,), self.g)", GAINS),
    "batch norm": ("return self.n(a[0])", "self.n = nn.BatchNorm1d(512)"),
    "batch norm as measured": ("return self.n(a[0])", "self.n = nn.BatchNorm1d(512); self.n.eval()"),
    "bilinear": ("return self.l(a[0][:, :32], a[0][:, 32:64])", "self.l = nn.Bilinear(32, 32, 16)"),
    "convolution of rows": (f"return self.c({ROWS})", "self.c = nn.Conv1d(8, 16, 5, padding=2)"),
    "convolution": (f"return self.c({IMAGE})", "self.c = nn.Conv2d(8, 16, 3, padding=1)"),
    "depthwise": (f"return self.c({IMAGE})", "self.c = nn.Conv2d(8, 8, 3, groups=8)"),
    "dilated": (f"return self.c({IMAGE})", "self.c = nn.Conv2d(8, 16, 3, stride=2, dilation=2)"),
    "transposed": (f"return self.c({IMAGE})", "self.c = nn.ConvTranspose2d(8, 16, 3, stride=2)"),
    "volume": ("return self.c(a[0].view(4, 8, 8, 8, 16))", "self.c = nn.Conv3d(8, 8, 3, padding=1)"),
    "heads": (f"x = {ROWS}[..., :64]; return self.m(x, x, x)[0]", "self.m = nn.MultiheadAttention(64, 4)"),
    "encoder": ("return self.m(a[0].view(8, 64, 64))",
                "self.m = nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True); self.m.eval()"),
    "LSTM": ("return self.m(a[0].view(8, 64, 64))[0]", "self.m = nn.LSTM(64, 64)"),
    "GRU": ("return self.m(a[0].view(8, 64, 64))[0]", "self.m = nn.GRU(64, 64)"),
}
SHORT_OF_FLOAT32 = {("cuda", "LSTM"), ("cuda", "GRU")}
SUMS_IN_HALVES = {("cuda", "cumsum"), ("cpu", "transposed")}
SQUARES_IN_HALVES = {("cuda", "distances")}


def operators():
    """Maps a name to forward and attributes."""
    made = {name: f"return torch.{name}(a[0])" for name in POINTWISE}
    made |= {name: f"return torch.{name}(a[0].abs() + 0.5)" for name in OF_POSITIVE}
    made |= {name: f"return F.{name}(a[0])" for name in ACTIVATIONS}
    made |= {name: f"return torch.{name}(a[0], dim=-1)" for name in OF_ROWS}
    return {name: (forward, "pass") for name, forward in (made | FORWARDS).items()} | LAYERS


def why_left_out(place, name, dtype):
    """The reason if ingest refuses the task; otherwise empty."""
    if (place, name) in SHORT_OF_FLOAT32:
        return f"{name}: cuDNN's tanh has 17 bits at this width"
    if dtype != torch.float32 and (place, name) in SUMS_IN_HALVES:
        return f"{name}: torch adds halves up in halves here"
    if dtype == torch.float16 and (place, name) in SQUARES_IN_HALVES:
        return f"{name}: torch's squares are halves here, which overflow or cancel"
    return ""


class SweepTest(unittest.TestCase):
    def trials(self, forward, attributes, place, dtype):
        """For each distribution on which eager does not overflow: its largest error over the bound, and the share of
        elements without a bound."""
        torch.manual_seed(5)
        attributes = attributes if attributes == "pass" else f"{attributes}; self.to({dtype})"
        task = tasks.Task(code(forward, f"[torch.randn{SHAPE}.to({dtype})]", attributes), device(place))
        parameters = [t.detach().clone() for _, t in task.named]
        task.settle(task.signature(), 1)
        for name, draw in DISTRIBUTIONS.items():
            inputs = [draw(SHAPE).to(dtype).to(device(place).place)]
            exact = task.reference(inputs, parameters)
            spread = spread_of(task, inputs, parameters, exact)
            bounds = [bound_of(s, e, dtype) for s, e in zip(spread, exact) if e.is_floating_point()]
            outs = task.run_in(None, inputs, parameters)
            if any(bool((~o.isfinite() & e.isfinite()).any()) for o, e in zip(outs, exact)):
                continue
            unbounded = [~b.isfinite() & e.isfinite() for b, e in zip(bounds, exact)]
            undecided = max((float(u.double().mean()) for u in unbounded), default=0)
            yield name, error_of(outs, exact, bounds), undecided

    def kept(self, *case):
        """The number of distributions that can be judged."""
        count = 0
        for name, error, undecided in self.trials(*case):
            self.assertLessEqual(undecided, 1 / ONE_UNDECIDED_IN, name)
            count += error <= HONEST
        return count

    @torch.no_grad()
    def test_eager_is_within_the_bound(self):
        for place, dtype, (name, case) in itertools.product(places(self), STORE, operators().items()):
            with self.subTest(place=place, dtype=dtype, operator=name):
                if why := why_left_out(place, name, dtype):
                    self.skipTest(why)
                self.assertGreaterEqual(self.kept(*case, place, dtype), LEAST_DISTRIBUTIONS)


if __name__ == "__main__":
    unittest.main()
