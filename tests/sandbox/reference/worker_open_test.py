# SPDX-License-Identifier: Apache-2.0
# What a task leaves open: the choice among equal elements, and changes without effect.
import unittest

import torch
from worker_support import Stay

import session

TASK = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {parts}
    def forward(self, x):
        {forward}
def get_inputs():
    return [torch.randn(64, 16)]
def get_init_inputs():
    return []
"""
SELECTIONS = {
    "topk": "return torch.topk(x, 4, dim=-1).indices",
    "columns": "return torch.topk(x, 4, dim=0).indices.int()",
    "sort": "return torch.argsort(x, dim=-1)",
    "median": "return torch.median(x, dim=1).indices",
    "kthvalue": "return torch.kthvalue(x, 3, dim=1, keepdim=True)",
    "mode": "return torch.mode(x, dim=-1)[1]",
}
ROUTER = ("self.gate = torch.nn.Linear(16, 8); self.experts = torch.nn.Parameter(torch.randn(8, 16))",
          "v, i = torch.topk(self.gate(x).softmax(-1), 2, dim=-1); return (self.experts[i] * v[..., None]).sum(1), i")


def stay(forward, parts="pass"):
    made = Stay(TASK.format(parts=parts, forward=forward))
    made.inputs[0][0].mul_(2).round_()  # so that many elements are equal
    made.call(session.REFERENCE)
    return made


def other_choice(made):
    """The outputs for reversed rows or columns, with the indices of the original."""
    x = made.inputs[0][0]
    dim = 0 if made.outputs[0][0].shape == (4, 16) else 1
    made.task.set_parameters(made.task.named, made.inputs[0][1:])
    outs = made.task.model(x.flip(dim))
    outs = outs if isinstance(outs, tuple) else (outs,)
    return [out if out.is_floating_point() else x.shape[dim] - 1 - out for out in outs]


class OpenTest(unittest.TestCase):
    def index_of(self, made):
        return next(k for k, out in enumerate(made.outputs[0]) if not out.is_floating_point())

    def given(self, made, outs):
        """The outputs after SETTLE, and the references."""
        for view, out in zip(made.outputs[0], outs):
            view.copy_(out)
        changed = made.call(session.SETTLE).answer
        return changed, made.outputs[0], made.result()[0]

    def test_any_of_several_equal_elements_may_be_selected(self):
        for name, forward in SELECTIONS.items():
            with self.subTest(name):
                made = stay(forward)
                outs, at = other_choice(made), self.index_of(made)
                self.assertFalse(torch.equal(outs[at].double(), made.result()[0][at]))
                changed, settled, exact = self.given(made, outs)
                self.assertTrue(changed)
                torch.testing.assert_close(settled[at].double(), exact[at], rtol=0, atol=0)

    def test_another_value_and_an_element_named_twice_stay_wrong(self):
        made = stay(SELECTIONS["topk"])
        right = made.result()[0][0].long()
        least = made.inputs[0][0].argmin(-1)
        wrong = right.clone()
        wrong[:, 0] = least
        twice = right[:, :1].expand_as(right)
        outside = right + 16
        for outs in (wrong, twice, outside):
            changed, settled, _ = self.given(made, [outs])
            self.assertFalse(changed)
            self.assertTrue(torch.equal(settled[0], outs))

    def test_a_stable_sort_and_argmax_leave_nothing_open(self):
        for forward in ("return torch.argsort(x, dim=-1, stable=True)", "return x.argmax(-1)"):
            self.assertFalse(stay(forward).task.selects)

    def test_what_depends_on_the_choice_is_not_bounded(self):
        made = Stay(TASK.format(parts=ROUTER[0], forward=ROUTER[1]))
        made.inputs[0][0][5] = 0
        for bias in made.inputs[0][1:]:
            if bias.dim() == 1:
                bias.zero_()  # all experts are equal for row 5
        made.call(session.REFERENCE)
        values, indices = made.result()[1]
        self.assertTrue(values[5].isinf().all())
        self.assertFalse(values[:5].isinf().any())
        self.assertFalse(indices.isinf().any())

    def effects(self, parts, forward):
        made = stay(forward, parts)
        return {name: made.call(session.EFFECT, argument=m).answer
                for m, name in enumerate(made.task.mutants) if name.startswith("dropped_")}

    def test_a_change_that_float64_does_not_see_has_no_effect(self):
        norm = self.effects("self.mix = torch.nn.Linear(16, 16); self.norm = torch.nn.LayerNorm(64)",
                            "return self.norm(self.mix(x).T).T")
        self.assertEqual(norm.pop("dropped_mix.bias"), 0)
        self.assertEqual(set(norm.values()), {1})
        unused = self.effects("self.a = torch.nn.Linear(16, 4); self.unused = torch.nn.Linear(9, 4)",
                              "return self.a(x)")
        self.assertEqual({n for n, effect in unused.items() if not effect},
                         {"dropped_unused.weight", "dropped_unused.bias"})

    def test_outputs_near_the_largest_number_are_not_finite(self):
        made = stay("return x * 2.0**100")
        self.assertEqual(made.call(session.FINITE).answer, 1)
        made.inputs[0][0][0, 0] = 1.9 * 2.0**26
        self.assertEqual(made.call(session.FINITE).answer, 1)
        made.inputs[0][0][0, 0] = 1.9 * 2.0**27
        self.assertEqual(made.call(session.FINITE).answer, 0)

    def test_infinities_of_the_task_itself_count_as_finite(self):
        made = stay("return torch.log(torch.relu(x))")
        self.assertTrue(made.result()[0][0].isinf().any())
        self.assertEqual(made.call(session.FINITE).answer, 1)


if __name__ == "__main__":
    unittest.main()
