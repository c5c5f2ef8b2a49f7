# SPDX-License-Identifier: Apache-2.0
# Seeds whose elements depend on one element of each operand: arithmetic, activations, comparisons.
from seeds import Seed

_ANY = ("abs asinh atan ceil cos cosh deg2rad erf erfc exp exp2 expm1 floor frac i0 nan_to_num neg rad2deg "
        "relu round sgn sigmoid sign sin sinc sinh square tan tanh trunc atanh:signed acos:signed erfinv:signed "
        "asin:signed digamma:positive lgamma:positive log:positive log10:positive log1p:positive log2:positive "
        "logit:unit reciprocal:positive rsqrt:positive sqrt:positive acosh:above_one selu")
_SPECIAL = ("bessel_j0 bessel_j1 bessel_y0:positive bessel_y1:positive entr:positive erfcx i0e i1 i1e log_ndtr ndtr "
            "ndtri:unit airy_ai spherical_bessel_j0:positive modified_bessel_i0 modified_bessel_i1 "
            "modified_bessel_k0:positive modified_bessel_k1:positive scaled_modified_bessel_k0:positive "
            "scaled_modified_bessel_k1:positive")
_RANGES = {"exp": "positive", "exp2": "positive", "cosh": "above_one", "sigmoid": "unit", "tanh": "signed",
           "sin": "signed", "cos": "signed", "erf": "signed", "softplus": "positive", "ndtr": "unit"}
_ACTIVATIONS = ("celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu "
                "silu softplus softshrink softsign tanhshrink")
_MODULES = ("CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish ReLU ReLU6 SELU SiLU "
            "Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink")
_BINARY = ("add sub mul maximum minimum fmax fmin atan2 copysign hypot logaddexp logaddexp2 rsub heaviside ldexp "
           "nextafter")
_QUOTIENTS = "div fmod remainder floor_divide"
_COMPARED = "ge gt le lt"
_LOGICAL = "logical_and logical_or logical_xor eq ne"
_INTEGERS = "bitwise_and bitwise_or bitwise_xor gcd lcm"
_POLYNOMIALS = ("chebyshev_polynomial_t chebyshev_polynomial_u hermite_polynomial_h hermite_polynomial_he "
                "laguerre_polynomial_l legendre_polynomial_p")


def _unary(prefix, names, family):
    for entry in dict.fromkeys(names.split()):
        name, _, domain = entry.partition(":")
        yield Seed(f"{prefix}.{name}", family, f"{prefix}.{name}({{x}})", domain=domain or "any",
                   ranks=(1, 2, 3, 4), range=_RANGES.get(name, "any"))


def _activations():
    for name in _ACTIVATIONS.split():
        yield Seed(f"torch.nn.functional.{name}", "activation", f"F.{name}({{x}})", ranks=(1, 2, 3, 4),
                   range=_RANGES.get(name, "any"))
    for name in _MODULES.split():
        yield Seed(f"torch.nn.{name}", "activation", "{m}({x})", f"nn.{name}()", ranks=(1, 2, 3, 4),
                   range=_RANGES.get(name.lower(), "any"))
    yield Seed("torch.nn.Threshold", "activation", "{m}({x})", "nn.Threshold(0.1, -0.5)")
    yield Seed("torch.nn.functional.threshold", "activation", "F.threshold({x}, 0.2, -1.0)")
    yield Seed("torch.nn.PReLU", "activation", "{m}({x})", "nn.PReLU({c})")
    yield Seed("torch.nn.functional.prelu", "activation", "F.prelu({x}, {y})", operands=("param torch.rand({c})",))
    yield Seed("torch.nn.GLU", "activation", "{m}({x})", "nn.GLU(dim=-1)")
    yield Seed("torch.nn.functional.glu", "activation", "F.glu({x}, dim=-1)")


def _binary():
    for name in _BINARY.split():
        yield Seed(f"torch.{name}", "binary", f"torch.{name}({{x}}, {{y}})", operands=("same",))
    for name in _QUOTIENTS.split():
        yield Seed(f"torch.{name}", "binary", f"torch.{name}({{x}}, {{y}})", operands=("input torch.rand{s} + 0.5",))
    for name in _COMPARED.split():
        yield Seed(f"torch.{name}", "compare", f"torch.{name}({{x}}, {{y}}).float()", operands=("same",))
    for name in _LOGICAL.split():
        yield Seed(f"torch.{name}", "compare", f"torch.{name}({{x}} > 0, {{y}} > 0.3).float()", operands=("same",))
    yield Seed("torch.logical_not", "compare", "torch.logical_not({x} > 0.4).float()")
    yield Seed("torch.signbit", "compare", "torch.signbit({x}).float()")
    yield Seed("torch.isclose", "compare", "torch.isclose({x}, {y}, atol=0.5).float()", operands=("same",))
    for name in _INTEGERS.split():
        draw = "torch.randint(0, 64, {s})"
        yield Seed(f"torch.{name}", "integer", f"torch.{name}({{x}}, {{y}}).float()", first=draw,
                   operands=(f"input {draw}",), domain="integer")
    for name in _POLYNOMIALS.split():
        yield Seed(f"torch.special.{name}", "special", f"torch.special.{name}({{x}}, 4)")


def _others():
    t = Seed
    yield t("torch.pow", "binary", "torch.pow({x}, {y})", operands=("input torch.rand{s} + 0.5",), domain="positive")
    yield t("torch.float_power", "binary", "torch.float_power({x}, 3).float()")
    yield t("torch.xlogy", "binary", "torch.xlogy({x}, {y})", operands=("input torch.rand{s} + 0.1",))
    yield t("torch.special.xlog1py", "special", "torch.special.xlog1py({x}, {y})",
            operands=("input torch.rand{s}",))
    yield t("torch.special.zeta", "special", "torch.special.zeta({x}, {y})", domain="above_one",
            operands=("input torch.rand{s} + 0.5",))
    for name in ("igamma", "igammac"):
        yield t(f"torch.{name}", "special", f"torch.{name}({{x}}, {{y}})", domain="positive",
                operands=("input torch.rand{s} + 0.1",))
    yield t("torch.polygamma", "special", "torch.polygamma(1, {x})", domain="positive")
    yield t("torch.mvlgamma", "special", "torch.mvlgamma({x}, 1)", domain="above_one")
    yield t("torch.lerp", "ternary", "torch.lerp({x}, {y}, 0.3)", operands=("same",))
    yield t("torch.addcmul", "ternary", "torch.addcmul({x}, {y}, {z}, value=0.5)", operands=("same", "same"))
    yield t("torch.addcdiv", "ternary", "torch.addcdiv({x}, {y}, {z}, value=0.5)",
            operands=("same", "input torch.rand{s} + 0.5"))
    yield t("torch.where", "ternary", "torch.where({x} > 0, {x}, {y})", operands=("same",))
    yield t("torch.clamp", "unary", "torch.clamp({x}, min=-0.7, max=1.2)")
    yield t("torch.clamp_min", "unary", "torch.clamp_min({x}, -0.25)")
    yield t("torch.clamp_max", "unary", "torch.clamp_max({x}, 0.75)")
    yield t("torch.masked_fill", "ternary", "torch.masked_fill({x}, {y} > 0.5, 0.25)",
            operands=("input torch.rand{s}",))
    yield t("torch.special.logit", "special", "torch.special.logit({x}, eps=1e-4)", domain="unit")
    yield t("torch.bucketize", "index", "torch.bucketize({x}, {y}).float()",
            operands=("input torch.linspace(-3.0, 3.0, 65)",))


def seeds():
    """All seeds of pointwise operators."""
    yield from _unary("torch", _ANY, "unary")
    yield from _unary("torch.special", _SPECIAL, "special")
    yield from _activations()
    yield from _binary()
    yield from _others()
