# SPDX-License-Identifier: Apache-2.0
"""Golden numbers of advantages, losses and statistics, in float64 with numpy alone.

Written from the equations, token by token, so that it shares nothing with the C++: gradients are
central differences of functions whose stop-gradient arguments are passed apart.
Run: python make_golden.py   (writes golden.json beside itself)
"""

import json
import math
import pathlib

import numpy as np

KINDS = ["ppo", "decoupled_ppo", "two_sided_mask", "dppo", "tis", "cispo"]


def gae(mask, rewards, values, gamma, lam):
    """Forward-looking double sum over action tokens: A_i = sum_k (gamma lam)^k delta_(i+k)."""
    actions = [t for t in range(len(mask)) if mask[t]]
    earned = [0.0] * len(actions)
    for t, r in enumerate(rewards):
        before = [i for i, a in enumerate(actions) if a <= t]
        if before:
            earned[before[-1]] += r
    v = [values[t] for t in actions] + [0.0]
    delta = [earned[i] + gamma * v[i + 1] - v[i] for i in range(len(actions))]
    adv = [0.0] * len(mask)
    target = [0.0] * len(mask)
    for i, t in enumerate(actions):
        adv[t] = sum((gamma * lam) ** k * delta[i + k] for k in range(len(actions) - i))
        target[t] = adv[t] + v[i]
    return adv, target


def gae_cases(rng):
    cases = []
    for n, gamma, lam in [(1, 1.0, 1.0), (7, 1.0, 0.95), (12, 0.99, 0.9), (20, 1.0, 0.0), (16, 1.0, 1.0)]:
        mask = (rng.random(n) < 0.6).astype(int)
        mask[rng.integers(n)] = 1
        rewards = np.where(rng.random(n) < 0.3, rng.normal(size=n), 0.0)
        rewards[-1] = 2.0
        values = rng.normal(size=n)
        adv, target = gae(mask, rewards, values, gamma, lam)
        cases.append(dict(gamma=gamma, lam=lam, mask=mask.tolist(), rewards=rewards.tolist(),
                          values=values.tolist(), advantages=adv, targets=target))
    return cases


DEFAULTS = dict(clip_low=0.2, clip_high=0.28, dual_clip=0.0, weight_cap=5.0, mask_beyond_cap=False,
                band_low=0.5, band_high=5.0, shift=0.2, sequence_low=0.0, sequence_high=0.0,
                kl=0.0, entropy=0.0, positive_nll=0.0)


def clipped(c, u, a):
    loss = -min(u * a, min(max(u, 1 - c["clip_low"]), 1 + c["clip_high"]) * a)
    if c["dual_clip"] > 0 and a < 0:
        loss = min(loss, -c["dual_clip"] * a)
    return loss


def surrogate(kind, c, lp, frozen, mu, prox, a):
    """One token. `lp` carries the gradient, `frozen` is sg(lp)."""
    rho = math.exp(frozen - mu)
    if kind == "ppo":
        return clipped(c, math.exp(lp - mu), a)
    if kind == "decoupled_ppo":
        w = math.exp(prox - mu)
        if w > c["weight_cap"]:
            w = 0.0 if c["mask_beyond_cap"] else c["weight_cap"]
        return w * clipped(c, math.exp(lp - prox), a)
    if kind == "two_sided_mask":
        return -rho * a * lp if c["band_low"] <= rho <= c["band_high"] else 0.0
    if kind == "dppo":
        far = abs(math.exp(frozen) - math.exp(mu)) > c["shift"]
        away = (a > 0 and frozen > mu) or (a < 0 and frozen < mu)
        return 0.0 if far and away else -math.exp(lp - mu) * a
    if kind == "tis":
        return -min(rho, c["weight_cap"]) * a * lp
    if kind == "cispo":
        return -min(max(rho, 1 - c["clip_low"]), 1 + c["clip_high"]) * a * lp
    raise ValueError(kind)


def loss_case(kind, tokens, **changes):
    c = {**DEFAULTS, **changes}
    n = len(tokens["log_prob"])

    def at(i, lp, ent, allowed):
        if not tokens["trainable"][i]:
            return 0.0
        x = surrogate(kind, c, lp, tokens["log_prob"][i], tokens["behaviour"][i],
                      tokens["proximal"][i], tokens["advantage"][i]) if allowed else 0.0
        rho = min(math.exp(tokens["log_prob"][i] - tokens["behaviour"][i]), c["weight_cap"])
        x += c["kl"] * rho * 0.5 * (lp - tokens["reference"][i]) ** 2 - c["entropy"] * ent
        return x - c["positive_nll"] * tokens["positive"][i] * lp

    allowed = [True] * n
    if c["sequence_high"] > 0:
        for k in set(tokens["trajectory"]):
            mine = [i for i in range(n) if tokens["trajectory"][i] == k]
            logs = [tokens["log_prob"][i] - tokens["behaviour"][i] for i in mine if tokens["trainable"][i]]
            mean = math.exp(sum(logs) / max(len(logs), 1))
            for i in mine:
                allowed[i] = c["sequence_low"] <= mean <= c["sequence_high"]
    h = 1e-6
    loss, grad, grad_entropy = [], [], []
    for i in range(n):
        lp, ent = tokens["log_prob"][i], tokens["entropy"][i]
        loss.append(at(i, lp, ent, allowed[i]))
        grad.append((at(i, lp + h, ent, allowed[i]) - at(i, lp - h, ent, allowed[i])) / (2 * h))
        grad_entropy.append((at(i, lp, ent + h, allowed[i]) - at(i, lp, ent - h, allowed[i])) / (2 * h))
    return dict(kind=KINDS.index(kind), config=c, loss=loss, grad=grad, grad_entropy=grad_entropy)


def tokens_of(rng, n=48):
    mu = -rng.gamma(1.2, 0.8, size=n)
    prox = np.minimum(mu + rng.normal(scale=0.8, size=n), -1e-3)
    lp = np.minimum(prox + rng.normal(scale=0.4, size=n), -1e-3)
    trajectory = np.sort(rng.integers(0, 5, size=n))
    return dict(log_prob=lp.tolist(), entropy=rng.gamma(2, 0.5, size=n).tolist(), behaviour=mu.tolist(),
                proximal=prox.tolist(), advantage=rng.normal(size=n).tolist(),
                trainable=(rng.random(n) < 0.85).astype(float).tolist(),
                positive=(trajectory % 2).astype(float).tolist(),
                reference=(lp + rng.normal(scale=0.3, size=n)).tolist(), trajectory=trajectory.tolist())


def loss_cases(tokens):
    cases = [loss_case(kind, tokens) for kind in KINDS]
    cases.append(loss_case("ppo", tokens, dual_clip=1.5))
    cases.append(loss_case("decoupled_ppo", tokens, weight_cap=1.3))
    cases.append(loss_case("decoupled_ppo", tokens, weight_cap=1.3, mask_beyond_cap=True))
    cases.append(loss_case("decoupled_ppo", tokens, sequence_low=0.9, sequence_high=1.1))
    cases.append(loss_case("tis", tokens, weight_cap=1.2))
    cases.append(loss_case("decoupled_ppo", tokens, kl=0.1, entropy=0.02, positive_nll=0.1))
    return cases


def value_cases(rng, n=16):
    value, target, first = (rng.normal(size=n) for _ in range(3))
    cases = []
    for clip in [0.0, 0.2, 1.0]:
        def f(i, v):
            plain = 0.5 * (v - target[i]) ** 2
            held = first[i] + min(max(v - first[i], -clip), clip)
            return max(plain, 0.5 * (held - target[i]) ** 2) if clip > 0 else plain
        h = 1e-6
        cases.append(dict(clip=clip, value=value.tolist(), target=target.tolist(), first=first.tolist(),
                          loss=[f(i, value[i]) for i in range(n)],
                          grad=[(f(i, value[i] + h) - f(i, value[i] - h)) / (2 * h) for i in range(n)]))
    return cases


def statistics_case(rng, tokens):
    n = len(tokens["log_prob"])
    lag = rng.integers(0, 4, size=n)
    clipped_ = (rng.random(n) < 0.25).astype(int)
    value, target = rng.normal(size=n), rng.normal(size=n)
    same_weights = (lag == 0).astype(int)
    lp, mu, prox = (np.array(tokens[k]) for k in ["log_prob", "behaviour", "proximal"])
    trained = np.array(tokens["trainable"]) > 0
    clipped_ = clipped_ * trained
    rho = np.exp(lp - mu)[trained]
    d, dp = (lp - mu)[trained], (lp - prox)[trained]
    gap = np.abs(prox - mu)[same_weights > 0]
    error = target - value
    return dict(
        tokens=tokens, lag=lag.tolist(), clipped=clipped_.tolist(), value=value.tolist(),
        target=target.tolist(), same_weights=same_weights.tolist(),
        expect=dict(
            quantiles=np.quantile(rho, [0, .01, .05, .5, .95, .99, 1]).tolist(),
            ess=float(rho.sum() ** 2 / (len(rho) * (rho ** 2).sum())),
            k3=float(np.mean(np.exp(d) - d - 1)), proximal_k3=float(np.mean(np.exp(dp) - dp - 1)),
            clip_fraction=float(clipped_.sum() / trained.sum()),
            clip_by_age=[float(clipped_[lag == a].mean()) for a in range(4)],
            mismatch_mean=float(gap.mean()), mismatch_max=float(gap.max()), mean_lag=float(lag.mean()),
            entropy=float(np.mean(tokens["entropy"])),
            explained_variance=float(1 - error.var() / target.var()),
            value_error=float(np.sqrt(np.mean(error ** 2)))))


def adamw_case(rng, steps=6, n=5):
    """Loshchilov and Hutter, arXiv 1711.05101, algorithm 2, with global-norm clipping before it."""
    lr, b1, b2, eps, decay, limit = 1e-2, 0.9, 0.95, 1e-8, 0.1, 1.0
    w, m, v = rng.normal(size=n), np.zeros(n), np.zeros(n)
    case = dict(learning_rate=lr, beta1=b1, beta2=b2, epsilon=eps, weight_decay=decay, clip=limit,
                start=w.tolist(), grads=[], norms=[], weights=[])
    for t in range(1, steps + 1):
        g = rng.normal(size=n) * 2.0 ** (t - 4)
        norm = float(np.sqrt((g ** 2).sum()))
        used = g * min(1.0, limit / norm)
        w = w * (1 - lr * decay)
        m, v = b1 * m + (1 - b1) * used, b2 * v + (1 - b2) * used ** 2
        w = w - lr * (m / (1 - b1 ** t)) / (np.sqrt(v / (1 - b2 ** t)) + eps)
        case["grads"].append(g.tolist())
        case["norms"].append(norm)
        case["weights"].append(w.tolist())
    return case


def main():
    rng = np.random.default_rng(20260)
    tokens = tokens_of(rng)
    golden = dict(gae=gae_cases(rng), tokens=tokens, losses=loss_cases(tokens), values=value_cases(rng),
                  statistics=statistics_case(rng, tokens), adamw=adamw_case(rng))
    path = pathlib.Path(__file__).with_name("golden.json")
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


main()
