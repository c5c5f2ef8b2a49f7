# SPDX-License-Identifier: Apache-2.0
# Seeds of products, convolutions, pools, resampling, attention, recurrence, indexing and linear algebra.
from seeds import Seed

t = Seed
_SQUARE = "torch.randn({b}, {n}, {n}) * 0.1 + torch.eye({n})"
_ROWS = "torch.randint(0, {b}, ({b},))"


def _products():
    yield t("torch.nn.Linear", "matmul", "{m}({x})", "nn.Linear({n}, {o})")
    weight = "param torch.randn({o}, {n}) * 0.05"
    yield t("torch.nn.functional.linear", "matmul", "F.linear({x}, {y})", operands=(weight,))
    right = "param torch.randn({n}, {o}) * 0.05"
    yield t("torch.matmul", "matmul", "torch.matmul({x}, {y})", operands=(right,))
    yield t("torch.mm", "matmul", "torch.mm({x}, {y})", operands=(right,), ranks=(2,))
    yield t("torch.addmm", "matmul", "torch.addmm({z}, {x}, {y})", ranks=(2,),
            operands=(right, "param torch.randn({o})"))
    batched = "input torch.randn({b}, {n}, {o})"
    yield t("torch.bmm", "matmul", "torch.bmm({x}, {y})", operands=(batched,), ranks=(3,))
    yield t("torch.baddbmm", "matmul", "torch.baddbmm({z}, {x}, {y}, alpha=0.1)",
            operands=(batched, "param torch.randn({c}, {o})"), ranks=(3,))
    yield t("torch.addbmm", "matmul", "torch.addbmm({z}, {x}, {y}, alpha=0.1)",
            operands=(batched, "param torch.randn({c}, {o})"), ranks=(3,))
    yield t("torch.mv", "matmul", "torch.mv({x}, {y})", operands=("param torch.randn({n})",), ranks=(2,))
    yield t("torch.addmv", "matmul", "torch.addmv({z}, {x}, {y})",
            operands=("param torch.randn({n})", "input torch.randn({b})"), ranks=(2,))
    yield t("torch.inner", "matmul", "torch.inner({x}, {y})", operands=(weight,))
    yield t("torch.tensordot", "matmul", "torch.tensordot({x}, {y}, dims=1)", operands=(right,))
    yield t("torch.einsum", "matmul", "torch.einsum('...n,no->...o', {x}, {y})", operands=(right,))
    yield t("torch.outer", "matmul", "torch.outer({x}, {y})", operands=("param torch.randn({o})",), ranks=(1,))
    yield t("torch.addr", "matmul", "torch.addr({z}, {x}, {y})",
            operands=("param torch.randn({o})", "param torch.randn({o})"), ranks=(1,))
    for name in ("dot", "vdot"):
        yield t(f"torch.{name}", "matmul", f"torch.{name}({{x}}, {{y}})", operands=("same",), ranks=(1,))
    yield t("torch.linalg.multi_dot", "matmul", "torch.linalg.multi_dot([{x}, {y}, {z}])", ranks=(2,),
            operands=(right, "param torch.randn({o}, {n}) * 0.05"))
    yield t("torch.chain_matmul", "matmul", "torch.chain_matmul({x}, {y})", operands=(right,), ranks=(2,))
    yield t("torch.kron", "matmul", "torch.kron({x}, {y})", operands=("param torch.randn(2, 3)",), ranks=(2,))
    yield t("torch.linalg.vecdot", "matmul", "torch.linalg.vecdot({x}, {y})", operands=("same",))
    yield t("torch.nn.Bilinear", "matmul", "{m}({x}, {y})", "nn.Bilinear({n}, {n}, {g})", operands=("same",),
            ranks=(2,))
    yield t("torch.cross", "binary", "torch.cross({x}, {y}, dim=-1)", ranks=(), first="torch.randn({b}, {o}, 3)",
            operands=("input torch.randn({b}, {o}, 3)",))


def _convolutions():
    for d in (1, 2, 3):
        ranks, k = (d + 2,), ", ".join(["3"] * d)
        yield t(f"torch.nn.Conv{d}d", "conv", "{m}({x})", f"nn.Conv{d}d({{c}}, {{o}}, 3, padding=1)", ranks=ranks)
        yield t(f"torch.nn.ConvTranspose{d}d", "conv", "{m}({x})", f"nn.ConvTranspose{d}d({{c}}, {{o}}, 3, stride=2)",
                ranks=ranks)
        yield t(f"torch.nn.functional.conv{d}d", "conv", f"F.conv{d}d({{x}}, {{y}}, padding=1, groups={{c}})",
                operands=(f"param torch.randn({{c}}, 1, {k}) * 0.2",), ranks=ranks)
        yield t(f"torch.nn.functional.conv_transpose{d}d", "conv", f"F.conv_transpose{d}d({{x}}, {{y}}, stride=2)",
                operands=(f"param torch.randn({{c}}, {{g}}, {k}) * 0.2",), ranks=ranks)
    yield t("torch.nn.functional.conv_tbc", "conv", "F.conv_tbc({x}, {y}, {z}, pad=1)", ranks=(3,),
            operands=("param torch.randn(3, {n}, {o}) * 0.05", "param torch.randn({o})"))
    yield t("torch.nn.Unfold", "conv", "{m}({x})", "nn.Unfold(3, padding=1)", ranks=(4,))
    yield t("torch.nn.functional.unfold", "conv", "F.unfold({x}, 2, stride=2)", ranks=(4,))
    draw = "torch.randn({b}, 16, 256)"
    yield t("torch.nn.Fold", "conv", "{m}({x})", "nn.Fold((33, 33), 3, stride=2)", ranks=(),
            first="torch.randn({b}, 72, 256)")
    yield t("torch.nn.functional.fold", "conv", "F.fold({x}, (32, 32), 2, stride=2)", ranks=(), first=draw)


def _pools():
    for d in (1, 2, 3):
        ranks = (d + 2,)
        for kind in ("Max", "Avg"):
            yield t(f"torch.nn.{kind}Pool{d}d", "pool", "{m}({x})", f"nn.{kind}Pool{d}d(2)", ranks=ranks)
            low = f"{kind.lower()}_pool{d}d"
            yield t(f"torch.nn.functional.{low}", "pool", f"F.{low}({{x}}, 3, stride=2)", ranks=ranks)
            yield t(f"torch.nn.Adaptive{kind}Pool{d}d", "pool", "{m}({x})", f"nn.Adaptive{kind}Pool{d}d(4)",
                    ranks=ranks)
            yield t(f"torch.nn.functional.adaptive_{low}", "pool", f"F.adaptive_{low}({{x}}, 5)", ranks=ranks)
        yield t(f"torch.nn.LPPool{d}d", "pool", "{m}({x})", f"nn.LPPool{d}d(2, 3)", ranks=ranks)
        yield t(f"torch.nn.functional.lp_pool{d}d", "pool", f"F.lp_pool{d}d({{x}}, 2, 2)", ranks=ranks)


def _pads():
    for d in (1, 2, 3):
        for kind in ("Reflection", "Replication", "Zero", "Circular"):
            yield t(f"torch.nn.{kind}Pad{d}d", "pad", "{m}({x})", f"nn.{kind}Pad{d}d(2)", ranks=(d + 2,))
        yield t(f"torch.nn.ConstantPad{d}d", "pad", "{m}({x})", f"nn.ConstantPad{d}d(1, 0.5)", ranks=(d + 2,))
    yield t("torch.nn.functional.pad", "pad", "F.pad({x}, (3, 5))")


def _resampling():
    yield t("torch.nn.Upsample", "resample", "{m}({x})", "nn.Upsample(scale_factor=2, mode='bicubic')", ranks=(4,))
    yield t("torch.nn.UpsamplingNearest2d", "resample", "{m}({x})", "nn.UpsamplingNearest2d(scale_factor=2)",
            ranks=(4,))
    yield t("torch.nn.UpsamplingBilinear2d", "resample", "{m}({x})", "nn.UpsamplingBilinear2d(scale_factor=2)",
            ranks=(4,))
    yield t("torch.nn.functional.interpolate", "resample",
            "F.interpolate({x}, scale_factor=2, mode='bilinear', align_corners=False)", ranks=(4,))
    yield t("torch.nn.functional.grid_sample", "resample", "F.grid_sample({x}, {y}, align_corners=False)", ranks=(4,),
            operands=("input torch.rand({b}, 16, 16, 2) * 2 - 1",))
    yield t("torch.nn.functional.affine_grid", "resample", "F.affine_grid({x}, ({b}, 1, 64, 64), align_corners=False)",
            ranks=(), first="torch.randn({b}, 2, 3)")
    yield t("torch.nn.PixelShuffle", "move", "{m}({x})", "nn.PixelShuffle(2)", ranks=(4,))
    yield t("torch.nn.functional.pixel_shuffle", "move", "F.pixel_shuffle({x}, 2)", ranks=(4,))
    yield t("torch.nn.PixelUnshuffle", "move", "{m}({x})", "nn.PixelUnshuffle(2)", ranks=(4,))
    yield t("torch.nn.functional.pixel_unshuffle", "move", "F.pixel_unshuffle({x}, 2)", ranks=(4,))
    yield t("torch.nn.ChannelShuffle", "move", "{m}({x})", "nn.ChannelShuffle(2)", ranks=(3, 4))
    yield t("torch.nn.functional.channel_shuffle", "move", "F.channel_shuffle({x}, 2)", ranks=(3, 4))


def _moves():
    yield t("torch.cat", "move", "torch.cat([{x}, {y}], dim=-1)", operands=("same",))
    yield t("torch.stack", "move", "torch.stack([{x}, {y}], dim=1)", operands=("same",), ranks=(2, 3))
    for name in ("hstack", "vstack", "dstack", "column_stack"):
        yield t(f"torch.{name}", "move", f"torch.{name}([{{x}}, {{y}}])", operands=("same",), ranks=(2, 3))
    yield t("torch.block_diag", "move", "torch.block_diag({x}, {y})", operands=("param torch.randn(8, 8)",), ranks=(2,))
    yield t("torch.flip", "move", "torch.flip({x}, dims=[-1])")
    yield t("torch.fliplr", "move", "torch.fliplr({x})")
    yield t("torch.flipud", "move", "torch.flipud({x})")
    yield t("torch.roll", "move", "torch.roll({x}, shifts=3, dims=-1)")
    yield t("torch.rot90", "move", "torch.rot90({x})")
    yield t("torch.tril", "move", "torch.tril({x})")
    yield t("torch.triu", "move", "torch.triu({x}, diagonal=1)")
    yield t("torch.tile", "move", "torch.tile({x}, (2,))")
    yield t("torch.repeat_interleave", "move", "torch.repeat_interleave({x}, 2, dim=-1)")
    yield t("torch.diag_embed", "move", "torch.diag_embed({x})", ranks=(2, 3))
    yield t("torch.vander", "scan", "torch.vander({x}, N=16)", ranks=(1,), domain="signed")


def _indexing():
    whole = "input torch.randint(0, {n}, {s})"
    yield t("torch.gather", "index", "torch.gather({x}, -1, {y})", operands=(whole,))
    yield t("torch.take_along_dim", "index", "torch.take_along_dim({x}, {y}, dim=-1)", operands=(whole,))
    yield t("torch.index_select", "index", "torch.index_select({x}, 0, {y})", operands=(f"input {_ROWS}",))
    yield t("torch.take", "index", "torch.take({x}, {y})", operands=("input torch.randint(0, {n}, ({b}, {n}))",))
    yield t("torch.scatter_add", "index", "torch.scatter_add({x}, -1, {y}, {z})",
            operands=(whole, "input torch.randn{s}"))
    yield t("torch.scatter_reduce", "index", "torch.scatter_reduce({x}, -1, {y}, {z}, reduce='amax')",
            operands=(whole, "input torch.randn{s}"))
    yield t("torch.index_add", "index", "torch.index_add({x}, 0, {y}, {z})",
            operands=(f"input {_ROWS}", "input torch.randn{s}"))
    yield t("torch.index_reduce", "index", "torch.index_reduce({x}, 0, {y}, {z}, 'amin')",
            operands=(f"input {_ROWS}", "input torch.randn{s}"))
    yield t("torch.index_copy", "index", "torch.index_copy({x}, 0, {y}, {z})",
            operands=("input torch.arange({b}).flip(0)", "input torch.randn{s}"))
    yield t("torch.index_fill", "index", "torch.index_fill({x}, -1, {y}, 0.5)",
            operands=("input torch.arange(0, {n}, 2)",))
    yield t("torch.select_scatter", "index", "torch.select_scatter({x}, {y}, 0, 1)",
            operands=("input torch.randn{tail}",))
    yield t("torch.slice_scatter", "index",
            "torch.slice_scatter({x}, {y}, dim=-1, start=0, end={n}, step=1) * 0.5 + {x}",
            operands=("same",), tags=("slow",))
    yield t("torch.nn.Embedding", "index", "{m}({x})", "nn.Embedding(1000, {o})", ranks=(),
            first="torch.randint(0, 1000, ({b}, {o}))")
    yield t("torch.nn.functional.embedding", "index", "F.embedding({x}, {y})", ranks=(),
            first="torch.randint(0, 1000, ({b}, {o}))", operands=("param torch.randn(1000, {o})",))
    yield t("torch.nn.EmbeddingBag", "index", "{m}({x})", "nn.EmbeddingBag(1000, {o}, mode='sum')", ranks=(),
            first="torch.randint(0, 1000, ({b}, 32))")
    yield t("torch.nn.functional.embedding_bag", "index", "F.embedding_bag({x}, {y})", ranks=(),
            first="torch.randint(0, 1000, ({b}, 16))", operands=("param torch.randn(1000, {o})",))
    yield t("torch.nn.functional.one_hot", "index", "F.one_hot({x}, 64).float()", ranks=(),
            first="torch.randint(0, 64, ({b}, {o}))")


def _attention():
    yield t("torch.nn.functional.scaled_dot_product_attention", "attention",
            "F.scaled_dot_product_attention({x}, {y}, {z})", operands=("same", "same"), ranks=(3, 4))
    yield t("torch.nn.MultiheadAttention", "attention", "{m}({x}, {x}, {x}, need_weights=False)[0]",
            "nn.MultiheadAttention({n}, 4, batch_first=True)", ranks=(3,))
    yield t("torch.nn.TransformerEncoderLayer", "attention", "{m}({x})",
            "nn.TransformerEncoderLayer({n}, 4, {n} * 2, dropout=0.0, batch_first=True)", ranks=(3,))
    yield t("torch.nn.TransformerDecoderLayer", "attention", "{m}({x}, {y})",
            "nn.TransformerDecoderLayer({n}, 4, {n} * 2, dropout=0.0, batch_first=True)",
            operands=("same",), ranks=(3,))


def _recurrence():
    for name in ("RNN", "GRU", "LSTM"):
        yield t(f"torch.nn.{name}", "recurrent", "{m}({x})[0]", f"nn.{name}({{n}}, {{o}}, batch_first=True)",
                ranks=(3,))
    for name, end in (("RNNCell", ""), ("GRUCell", ""), ("LSTMCell", "[0]")):
        yield t(f"torch.nn.{name}", "recurrent", "{m}({x})" + end, f"nn.{name}({{n}}, {{o}})", ranks=(2,))


def _spectra():
    for name in ("fft", "ifft", "rfft", "ihfft", "fft2", "ifft2", "rfft2", "fftn", "rfftn", "ifftn"):
        yield t(f"torch.fft.{name}", "spectrum", f"torch.fft.{name}({{x}}).abs()")
    for name in ("irfft", "hfft", "irfft2"):
        yield t(f"torch.fft.{name}", "spectrum", f"torch.fft.{name}(torch.complex({{x}}, {{y}}))", operands=("same",))
    for name in ("fftshift", "ifftshift"):
        yield t(f"torch.fft.{name}", "move", f"torch.fft.{name}({{x}})")
    yield t("torch.stft", "spectrum", "torch.stft({x}, 16, window={y}, return_complex=True).abs()", ranks=(2,),
            operands=("input torch.hann_window(16)",))
    yield t("torch.polar", "spectrum", "torch.polar({x}, {y}).real", operands=("same",))
    yield t("torch.complex", "spectrum", "torch.complex({x}, {y}).abs()", operands=("same",))


def _algebra():
    small = _SQUARE.replace("{n}", "16")
    for name in ("inv", "det", "matrix_exp", "pinv"):
        yield t(f"torch.linalg.{name}", "linalg", f"torch.linalg.{name}({{x}})", ranks=(), first=small)
    yield t("torch.linalg.matrix_power", "linalg", "torch.linalg.matrix_power({x}, 3)", ranks=(), first=small)
    yield t("torch.linalg.slogdet", "linalg", "torch.linalg.slogdet({x})[1]", ranks=(), first=small)
    yield t("torch.logdet", "linalg", "torch.logdet({x} @ {x}.mT)", ranks=(), first=small)
    yield t("torch.linalg.cholesky", "linalg", "torch.linalg.cholesky({x} @ {x}.mT)", ranks=(), first=small)
    yield t("torch.linalg.eigvalsh", "linalg", "torch.linalg.eigvalsh({x} + {x}.mT)", ranks=(), first=small)
    yield t("torch.linalg.svdvals", "linalg", "torch.linalg.svdvals({x})", ranks=(), first=small)
    yield t("torch.linalg.solve", "linalg", "torch.linalg.solve({x}, {y})", ranks=(), first=small,
            operands=("input torch.randn({b}, 16, 4)",))
    yield t("torch.linalg.solve_triangular", "linalg", "torch.linalg.solve_triangular({x}, {y}, upper=True)", ranks=(),
            first=f"torch.triu({small})", operands=("input torch.randn({b}, 16, 4)",))
    yield t("torch.linalg.vander", "linalg", "torch.linalg.vander({x}, N=8)", ranks=(1, 2), domain="signed")


def seeds():
    """All seeds of layers and of operators that move or index data."""
    for group in (_products, _convolutions, _pools, _pads, _resampling, _moves, _indexing, _attention, _recurrence,
                  _spectra, _algebra):
        yield from group()
