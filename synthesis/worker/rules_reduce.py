# SPDX-License-Identifier: Apache-2.0
# Seeds that combine elements along axes: reductions, scans, sorts, normalisations, distances and losses.
from seeds import Seed

_PLAIN = "sum mean amax amin prod std var nansum nanmean argmax argmin logsumexp"
_FIRST_OF_TWO = "max min median nanmedian mode"
_SCANS = "cumsum cumprod logcumsumexp"
_LOSSES = "mse_loss l1_loss smooth_l1_loss huber_loss"
_LOSS_MODULES = "MSELoss L1Loss SmoothL1Loss HuberLoss"
_SIGNS = "torch.randint(0, 2, ({b},)) * 2.0 - 1.0"


def _reductions():
    for name in _PLAIN.split():
        cast = ".float()" if name in ("argmax", "argmin") else ""
        yield Seed(f"torch.{name}", "reduction", f"torch.{name}({{x}}, dim=-1){cast}")
    for name in _FIRST_OF_TWO.split():
        yield Seed(f"torch.{name}", "reduction", f"torch.{name}({{x}}, dim=-1)[0]")
    t = Seed
    yield t("torch.var_mean", "reduction", "torch.var_mean({x}, dim=1)[0]")
    yield t("torch.std_mean", "reduction", "torch.std_mean({x}, dim=1)[0]")
    yield t("torch.count_nonzero", "reduction", "torch.count_nonzero({x} > 0.3, dim=-1).float()")
    yield t("torch.aminmax", "reduction", "torch.aminmax({x}, dim=-1)[1]")
    yield t("torch.quantile", "reduction", "torch.quantile({x}, 0.75, dim=-1)")
    yield t("torch.nanquantile", "reduction", "torch.nanquantile({x}, 0.25, dim=-1)")
    yield t("torch.kthvalue", "reduction", "torch.kthvalue({x}, 3, dim=-1)[0]")
    yield t("torch.norm", "reduction", "torch.norm({x}, p=2, dim=-1)")
    yield t("torch.linalg.vector_norm", "reduction", "torch.linalg.vector_norm({x}, ord=3, dim=-1)")
    yield t("torch.linalg.matrix_norm", "reduction", "torch.linalg.matrix_norm({x}, ord='fro')", ranks=(3, 4))
    yield t("torch.linalg.norm", "reduction", "torch.linalg.norm({x}, dim=-1)")
    yield t("torch.dist", "reduction", "torch.dist({x}, {y})", operands=("same",))
    yield t("torch.trace", "reduction", "torch.trace({x})", ranks=(2,))
    yield t("torch.histc", "reduction", "torch.histc({x}, bins=64, min=-3.0, max=3.0)")
    yield t("torch.any", "compare", "torch.any({x} > 2.5, dim=-1).float()")
    yield t("torch.all", "compare", "torch.all({x} > -2.5, dim=-1).float()")


def _scans():
    for name in _SCANS.split():
        yield Seed(f"torch.{name}", "scan", f"torch.{name}({{x}}, dim=-1)")
    for name in ("cummax", "cummin"):
        yield Seed(f"torch.{name}", "scan", f"torch.{name}({{x}}, dim=-1)[0]")
    for name in ("diff", "cumulative_trapezoid", "trapezoid"):
        yield Seed(f"torch.{name}", "scan", f"torch.{name}({{x}}, dim=-1)")
    yield Seed("torch.gradient", "scan", "torch.gradient({x}, dim=-1)[0]")


def _sorts():
    t = Seed
    yield t("torch.sort", "sort", "torch.sort({x}, dim=-1)[0]")
    yield t("torch.msort", "sort", "torch.msort({x})")
    yield t("torch.argsort", "sort", "torch.argsort({x}, dim=-1, stable=True).float()")
    yield t("torch.topk", "sort", "torch.topk({x}, 8, dim=-1)[0]")
    yield t("torch.searchsorted", "sort", "torch.searchsorted({y}, {x}).float()",
            operands=("input torch.linspace(-2.0, 2.0, 129)",))


def _norms():
    t = Seed
    yield t("torch.nn.LayerNorm", "norm", "{m}({x})", "nn.LayerNorm({n})")
    yield t("torch.nn.functional.layer_norm", "norm", "F.layer_norm({x}, ({n},))")
    yield t("torch.nn.RMSNorm", "norm", "{m}({x})", "nn.RMSNorm({n})")
    yield t("torch.nn.functional.rms_norm", "norm", "F.rms_norm({x}, ({n},))")
    for rank, shape in ((2, 1), (3, 1), (4, 2), (5, 3)):
        if rank != 2:
            yield t(f"torch.nn.InstanceNorm{shape}d", "norm", "{m}({x})",
                    f"nn.InstanceNorm{shape}d({{c}}, affine=True)", ranks=(rank,))
            yield t(f"torch.nn.BatchNorm{shape}d", "norm", "{m}({x})", f"nn.BatchNorm{shape}d({{c}})",
                    ranks=(2, 3) if rank == 3 else (rank,))
    yield t("torch.nn.GroupNorm", "norm", "{m}({x})", "nn.GroupNorm({g}, {c})", ranks=(2, 3, 4, 5))
    yield t("torch.nn.functional.group_norm", "norm", "F.group_norm({x}, {g})", ranks=(2, 3, 4))
    yield t("torch.nn.functional.instance_norm", "norm", "F.instance_norm({x})", ranks=(3, 4, 5))
    yield t("torch.nn.functional.batch_norm", "norm", "F.batch_norm({x}, None, None, training=True)")
    yield t("torch.nn.functional.normalize", "norm", "F.normalize({x}, dim=-1)")
    yield t("torch.nn.functional.local_response_norm", "norm", "F.local_response_norm({x}, 5)", ranks=(3, 4))
    yield t("torch.nn.LocalResponseNorm", "norm", "{m}({x})", "nn.LocalResponseNorm(3)", ranks=(3, 4))
    yield t("torch.nn.CrossMapLRN2d", "norm", "{m}({x})", "nn.CrossMapLRN2d(3)", ranks=(4,))
    yield t("torch.renorm", "norm", "torch.renorm({x}, 2, 0, 1.0)")
    for name in ("softmax", "log_softmax"):
        yield t(f"torch.{name}", "softmax", f"torch.{name}({{x}}, dim=-1)")
    for name in ("softmax", "log_softmax", "softmin"):
        yield t(f"torch.nn.functional.{name}", "softmax", f"F.{name}({{x}}, dim=1)")
    for name in ("Softmax", "LogSoftmax", "Softmin"):
        yield t(f"torch.nn.{name}", "softmax", "{m}({x})", f"nn.{name}(dim=-1)")
    yield t("torch.nn.Softmax2d", "softmax", "{m}({x})", "nn.Softmax2d()", ranks=(4,))


def _distances():
    t = Seed
    yield t("torch.nn.functional.cosine_similarity", "distance", "F.cosine_similarity({x}, {y}, dim=1)",
            operands=("same",))
    yield t("torch.nn.CosineSimilarity", "distance", "{m}({x}, {y})", "nn.CosineSimilarity(dim=-1)",
            operands=("same",))
    yield t("torch.nn.functional.pairwise_distance", "distance", "F.pairwise_distance({x}, {y})", operands=("same",))
    yield t("torch.nn.PairwiseDistance", "distance", "{m}({x}, {y})", "nn.PairwiseDistance(p=2)", operands=("same",))
    yield t("torch.cdist", "distance", "torch.cdist({x}, {y})", operands=("param torch.randn({o}, {n})",),
            ranks=(2, 3))
    yield t("torch.nn.functional.pdist", "distance", "F.pdist({x})", ranks=(2,), tags=("quadratic",))


def _losses():
    t = Seed
    for name in _LOSSES.split():
        yield t(f"torch.nn.functional.{name}", "loss", f"F.{name}({{x}}, {{y}}, reduction='none')",
                operands=("same",))
    for name in _LOSS_MODULES.split():
        yield t(f"torch.nn.{name}", "loss", "{m}({x}, {y})", f"nn.{name}()", operands=("same",))
    for name in ("soft_margin_loss", "multilabel_soft_margin_loss"):
        yield t(f"torch.nn.functional.{name}", "loss", f"F.{name}({{x}}, {{y}}, reduction='none')", ranks=(2,),
                operands=("input torch.randint(0, 2, {s}).float()",))
    for name in ("SoftMarginLoss", "MultiLabelSoftMarginLoss", "BCEWithLogitsLoss"):
        yield t(f"torch.nn.{name}", "loss", "{m}({x}, {y})", f"nn.{name}()", ranks=(2,),
                operands=("input torch.randint(0, 2, {s}).float()",))
    yield t("torch.nn.HingeEmbeddingLoss", "loss", "{m}({x}, {y})", "nn.HingeEmbeddingLoss()",
            operands=("input torch.randint(0, 2, {s}) * 2.0 - 1.0",))
    yield t("torch.nn.functional.hinge_embedding_loss", "loss", "F.hinge_embedding_loss({x}, {y}, reduction='none')",
            operands=("input torch.randint(0, 2, {s}) * 2.0 - 1.0",))
    for name in ("binary_cross_entropy", "kl_div", "poisson_nll_loss", "binary_cross_entropy_with_logits"):
        domain = "unit" if name == "binary_cross_entropy" else "any"
        yield t(f"torch.nn.functional.{name}", "loss", f"F.{name}({{x}}, {{y}}, reduction='none')", domain=domain,
                operands=("input torch.rand{s}",))
    for name in ("BCELoss", "KLDivLoss", "PoissonNLLLoss"):
        module = f"nn.{name}(reduction='batchmean')" if name == "KLDivLoss" else f"nn.{name}()"
        yield t(f"torch.nn.{name}", "loss", "{m}({x}, {y})", module, domain="unit" if name == "BCELoss" else "any",
                operands=("input torch.rand{s}",))
    yield from _class_losses()
    yield from _margin_losses()


def _class_losses():
    t = Seed
    target = ("input torch.randint(0, {c}, ({b},))",)
    yield t("torch.nn.functional.cross_entropy", "loss", "F.cross_entropy({x}, {y}, reduction='none')", ranks=(2,),
            operands=target)
    yield t("torch.nn.CrossEntropyLoss", "loss", "{m}({x}, {y})", "nn.CrossEntropyLoss()", ranks=(2,),
            operands=target)
    yield t("torch.nn.functional.nll_loss", "loss", "F.nll_loss({x}, {y}, reduction='none')", ranks=(2,),
            operands=target)
    yield t("torch.nn.NLLLoss", "loss", "{m}({x}, {y})", "nn.NLLLoss()", ranks=(2,), operands=target)
    yield t("torch.nn.functional.multi_margin_loss", "loss", "F.multi_margin_loss({x}, {y}, reduction='none')",
            ranks=(2,), operands=target)
    yield t("torch.nn.MultiMarginLoss", "loss", "{m}({x}, {y})", "nn.MultiMarginLoss()", ranks=(2,), operands=target)
    yield t("torch.nn.MultiLabelMarginLoss", "loss", "{m}({x}, {y})", "nn.MultiLabelMarginLoss()", ranks=(2,),
            operands=("input torch.randint(0, 2, {s})",))


def _margin_losses():
    t = Seed
    yield t("torch.nn.functional.margin_ranking_loss", "loss",
            "F.margin_ranking_loss({x}, {y}, {z}, reduction='none')",
            operands=("same", "input torch.randint(0, 2, {s}) * 2.0 - 1.0"))
    yield t("torch.nn.MarginRankingLoss", "loss", "{m}({x}, {y}, {z})", "nn.MarginRankingLoss(margin=0.2)",
            operands=("same", "input torch.randint(0, 2, {s}) * 2.0 - 1.0"))
    for name in ("triplet_margin_loss", "triplet_margin_with_distance_loss"):
        yield t(f"torch.nn.functional.{name}", "loss", f"F.{name}({{x}}, {{y}}, {{z}}, reduction='none')",
                operands=("same", "same"), ranks=(2,))
    yield t("torch.nn.TripletMarginLoss", "loss", "{m}({x}, {y}, {z})", "nn.TripletMarginLoss()",
            operands=("same", "same"), ranks=(2,))
    yield t("torch.nn.functional.cosine_embedding_loss", "loss",
            "F.cosine_embedding_loss({x}, {y}, {z}, reduction='none')",
            operands=("same", f"input {_SIGNS}"), ranks=(2,))
    yield t("torch.nn.CosineEmbeddingLoss", "loss", "{m}({x}, {y}, {z})", "nn.CosineEmbeddingLoss()",
            operands=("same", f"input {_SIGNS}"), ranks=(2,))


def seeds():
    """All seeds that combine elements along axes."""
    for group in (_reductions, _scans, _sorts, _norms, _distances, _losses):
        yield from group()
