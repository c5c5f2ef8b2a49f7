# SPDX-License-Identifier: Apache-2.0
# Planted defects: each is rejected with its own reason, and the process that judges goes on.
import ctypes
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import support
from support import SETTINGS, program

import child  # noqa: E402
import namespaces  # noqa: E402
from cost import estimate_ms  # noqa: E402
from evaluate import Evaluation, signature_of, survey_on_meta  # noqa: E402
from reasons import Rejected  # noqa: E402
import worker  # noqa: E402

LIMITS = child.Limits(seconds=10.0, waits=24.0, memory=1 << 30)


def reason_of(code, ops=(), limits=LIMITS, **settings):
    """Why the text is rejected; None if it is accepted."""
    try:
        child.run(lambda say: Evaluation(code, ops, {**SETTINGS, **settings}, say).run(), limits)
    except Rejected as error:
        return error.reason
    return None


def compiled_reason(code, backend="aot_eager"):
    settings = {**SETTINGS, "compile": backend}
    limits = child.Limits(seconds=60.0, folder="/tmp")
    try:
        child.run(lambda say: Evaluation(code, (), settings, say).run_compiled(), limits)
    except Rejected as error:
        return error.reason
    return None


def detail_of(code):
    """The detail of its rejection."""
    with unittest.TestCase().assertRaises(Rejected) as refused:
        child.run(lambda say: Evaluation(code, (), SETTINGS, say).run(), LIMITS)
    return refused.exception.reason, refused.exception.detail


class OutputsTest(unittest.TestCase):
    def test_the_constant_output_is_named(self):
        second = program("return F.gelu(x), torch.arange(12.).view(3, 4)")
        self.assertEqual(detail_of(second), ("constant", "output 1 of shape (3, 4)"))
        self.assertEqual(detail_of(program("return torch.arange(9.)")), ("constant", "the output"))
        rows = program("return F.gelu(x), x.mean(-1, keepdim=True).expand(64, 3)")
        self.assertEqual(detail_of(rows), ("constant_axis", "output 1 of shape (64, 3) along axis 1"))

    def test_an_honest_task_is_accepted(self):
        self.assertIsNone(reason_of(program("return F.gelu(x)"), ["torch.nn.functional.gelu"]))

    def test_random_operators(self):
        for forward in ("return x + torch.rand_like(x)", "return F.dropout(x, 0.5, True)",
                        "return x * torch.bernoulli(torch.full_like(x, 0.5))"):
            self.assertEqual(reason_of(program(forward)), "random")

    def test_randomness_that_is_not_torch_s(self):
        self.assertEqual(reason_of(program("return x * random.random()", top="import random")), "nondeterministic")
        self.assertEqual(reason_of(program("self.n += 1\nreturn x * self.n", init="self.n = 0")), "nondeterministic")
        first = program("calls.append(0)\nreturn x * (2 if calls[1:] else 3)", top="calls = []")
        self.assertEqual(reason_of(first), "nondeterministic")

    def test_layers_that_torch_computes_otherwise_while_calls_are_tracked(self):
        layer = "nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()"
        code = program("return self.m(x)", init=f"self.m = {layer}", inputs="torch.randn(8, 16, 32)")
        self.assertIsNone(reason_of(code, ["torch.nn.TransformerEncoderLayer"]))

    def test_outputs_that_do_not_depend_on_the_input(self):
        self.assertEqual(reason_of(program("return self.p.exp()", init="self.p = nn.Parameter(torch.randn(9, 9))")),
                         "constant")
        self.assertEqual(reason_of(program("return x * 0 + 1")), "constant")
        self.assertEqual(reason_of(program("return torch.softmax(x, -1).sum(-1).round()")), "constant")

    def test_outputs_that_are_constant_along_an_axis(self):
        self.assertEqual(reason_of(program("return x.mean(-1, keepdim=True).expand(64, 128) * 2")), "constant_axis")

    def test_outputs_near_zero(self):
        self.assertEqual(reason_of(program("return x * 1e-9")), "near_zero")

    def test_outputs_that_are_an_input(self):
        self.assertEqual(reason_of(program("return x + 0")), "identity")
        self.assertEqual(reason_of(program("return F.relu(x)", inputs="torch.rand(64, 128)")), "identity")

    def test_outputs_that_are_no_finite_tensors(self):
        self.assertEqual(reason_of(program("return torch.log(x)")), "bad_output")
        self.assertEqual(reason_of(program("return 7")), "bad_output")
        self.assertEqual(reason_of(program("return x[:0]")), "bad_output")

    def test_inputs_are_left_alone(self):
        self.assertEqual(reason_of(program("return x.mul_(2)")), "changes_input")

    def test_operators_that_are_declared_and_not_called(self):
        code = program("return F.gelu(x)", init="self.norm = nn.LayerNorm(128)")
        self.assertEqual(reason_of(code, ["torch.nn.functional.gelu", "torch.nn.LayerNorm"]), "op_unused")
        self.assertEqual(reason_of(program("return x.exp()"), ["torch.cumsum"]), "op_unused")
        self.assertIsNone(reason_of(program("return x.exp() @ x.T"), ["torch.exp", "torch.matmul"]))

    def test_operators_whose_results_reach_no_output(self):
        for forward in ("F.gelu(x)\nreturn x.exp()", "y = x.clone()\ny[0] = F.gelu(x)[0]\nreturn x.exp()",
                        "self.m(x)\nreturn x.exp()", "return x.exp() * F.gelu(x).size(0)"):
            code = program(forward, init="self.m = nn.GELU()")
            declared = "torch.nn.GELU" if "self.m(" in forward else "torch.nn.functional.gelu"
            self.assertEqual(reason_of(code, ["torch.exp", declared]), "op_unused", forward)

    def test_results_reach_an_output_by_views_writes_and_numbers(self):
        for forward in ("y = x.clone()\ny[0] = F.gelu(x)[0]\nreturn y.exp()",
                        "y = torch.empty_like(x)\ny.T[1:].copy_(F.gelu(x).T[1:])\ny[:, 0] = 1\nreturn y.exp()",
                        "y = torch.empty_like(x)\ntorch.mul(F.gelu(x), 2, out=y)\nreturn y.exp()",
                        "return x.exp() * F.gelu(x).sum().item()", "return x.exp() if F.gelu(x).max() > 0 else x.sin()",
                        "return x.exp() * F.gelu(x).relu().nonzero().size(0)",
                        "y = F.gelu(x).relu()\nreturn x.exp() * torch.unique(y).numel()",
                        "y = F.gelu(x)\nreturn x.exp() * y.masked_select(y > 1).shape[0]",
                        "y = F.gelu(x)\nreturn x.exp() + torch.from_numpy(np.sort(y))",
                        "y = F.gelu(x)\nreturn x.exp() + torch.from_numpy(np.from_dlpack(y).copy())",
                        "return {'a': [x.exp()], 'b': F.gelu(x)}"):
            code = program(forward, top="import numpy as np")
            self.assertIsNone(reason_of(code, ["torch.exp", "torch.nn.functional.gelu"]), forward)

    def test_times_outside_the_window(self):
        code = program("return torch.tanh(x)")
        self.assertEqual(reason_of(code, window=[1000.0, 2000.0]), "too_fast")
        self.assertEqual(reason_of(code, window=[1e-9, 1e-6]), "too_slow")

    def clocked(self, factor, **settings):
        """The reason where both clocks show so many times the estimate, which lies in the window."""
        def once(self, _):
            return (estimate_ms(self.cost, "cpu") * factor,) * 2
        with mock.patch.object(Evaluation, "_once_ms", once):
            return reason_of(program("return torch.tanh(x)"), window=[0.005, 0.05], **settings)

    def test_the_estimate_decides_about_composed_tasks_unless_it_is_far_off(self):
        self.assertEqual([self.clocked(factor, foreign=False) for factor in (0.1, 1, 10)], [None] * 3)
        self.assertEqual([self.clocked(factor, foreign=False) for factor in (0.001, 1000)], ["too_fast", "too_slow"])

    def test_one_pause_of_the_machine_decides_nothing(self):
        calls = []

        def once(self, _):
            calls.append(None)
            paused = len(calls) == 2  # the first call behind the one that warms up
            time.sleep(0.2 * paused)
            return estimate_ms(self.cost, "cpu") * (1000 if paused else 1), 0.01

        with mock.patch.object(Evaluation, "_once_ms", once):
            self.assertIsNone(reason_of(program("return torch.tanh(x)"), window=[0.005, 0.05], foreign=False))

    def test_the_clock_decides_about_foreign_tasks(self):
        self.assertEqual([self.clocked(factor) for factor in (0.1, 1, 10)], ["too_fast", None, "too_slow"])

    def test_a_task_that_waits_is_too_slow(self):
        self.assertEqual(reason_of(program("time.sleep(0.5)\nreturn torch.tanh(x)", top="import time")), "too_slow")

    def test_the_same_operators_and_shapes_as_a_known_program(self):
        known = survey_on_meta(program("y = torch.exp(x)\nreturn F.relu(y)"))
        self.assertEqual(reason_of(program("return torch.relu(x.exp())"), signatures={known}), "same_signature")
        self.assertIsNone(reason_of(program("return torch.relu(x.exp())", inputs="torch.randn(32, 128)"),
                                    signatures={known}))
        self.assertEqual(known, signature_of({"operators": ["relu", "exp"], "shapes": ["float32[64, 128]"]}))

    def test_layers_that_a_device_divides_otherwise_than_meta(self):
        for forward, init in (("return self.m(x)[0]", "self.m = nn.LSTM(128, 32)"),
                              ("return F.scaled_dot_product_attention(x[None], x[None], x[None])", "pass")):
            code = program(forward, init=init)
            self.assertEqual(reason_of(code, signatures={survey_on_meta(code)}), "same_signature")

    def test_code_that_raises(self):
        self.assertEqual(reason_of(program("return x @ x")), "raises")
        self.assertEqual(reason_of(program("raise SystemExit(0)")), "raises")
        self.assertEqual(reason_of(program("return x", top="import no_such_module")), "raises")


class CompiledTest(unittest.TestCase):
    def test_equal_outputs_are_accepted(self):
        self.assertIsNone(compiled_reason(program("return F.gelu(x).cumsum(-1)")))

    def test_outputs_that_differ_when_compiled(self):
        code = program("return x * 3 if torch.compiler.is_compiling() else x * 2")
        self.assertEqual(compiled_reason(code), "compile_differs")

    def test_code_that_raises_when_compiled(self):
        self.assertEqual(compiled_reason(program("return x * 2"), "no_such_backend"), "compile_raises")


class AttacksTest(unittest.TestCase):
    def test_processes(self):
        self.assertEqual(reason_of(program("os.fork()\nreturn x * 2", top="import os")), "forks")
        self.assertEqual(reason_of(program("os.system('true')\nreturn x * 2", top="import os")), "forks")
        self.assertEqual(reason_of(program("return x * 2", top="import subprocess\nsubprocess.run(['true'])")), "forks")

    def test_processes_started_around_python(self):
        code = program("ctypes.CDLL(None).fork()\nreturn x * 2", top="import ctypes")
        self.assertEqual(reason_of(code), "forbidden_call")

    def test_network(self):
        code = program("return x * 2", top="import socket\nsocket.create_connection(('127.0.0.1', 9))")
        self.assertEqual(reason_of(code), "network")
        code = program("ctypes.CDLL(None).socket(2, 1, 0)\nreturn x * 2", top="import ctypes")
        self.assertEqual(reason_of(code), "forbidden_call")

    def test_a_gpus_driver_may_listen_at_a_local_address_and_reach_nobody(self):
        def attempt(say):
            libc, folder = ctypes.CDLL(None, use_errno=True), b"\x01\x00/run/planted"
            here = libc.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0)
            name = b"\x01\x00\x00driver-of-a-test"
            done = [libc.bind(here, name, len(name)), libc.listen(here, 4)]
            there = libc.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0)
            return [*done, libc.connect(there, folder, len(folder)), libc.socket(socket.AF_INET, 1, 0), libc.fork()]

        done, _ = child.run(attempt, LIMITS._replace(device="cuda", folder="/tmp"))
        self.assertEqual(done, [0, 0, -1, -1, -1])

    def test_files(self):
        for line in ("open('/tmp/warpsmith-planted', 'w')", "os.mkdir('/tmp/warpsmith-planted')",
                     "os.remove('/tmp/none')", "torch.save(1, '/tmp/warpsmith-planted')"):
            reason = reason_of(program("return x * 2", top=f"import os\n{line}"))
            self.assertIn(reason, ("writes_files", "raises"), line)  # torch.save opens files around Python
        code = program("return x * 2", top="import ctypes\nassert ctypes.CDLL(None).creat(b'/tmp/planted', 420) >= 0")
        self.assertEqual(reason_of(code), "raises")

    def test_reports_that_a_task_writes_itself(self):
        for text in ("no JSON", "[]", '{"step": 1}', '{"rejected": "no such", "detail": ""}', "[" * 9999):
            top = f"import os\nfor n in range(3, 64):\n    try: os.write(n, {text.encode() + b'chr(10)'!r})"
            top = top.replace("chr(10)", "\\n") + "\n    except OSError: pass"
            self.assertEqual(reason_of(program("return x * 2", top=top)), "forged", text)

    def test_facts_of_another_form(self):
        honest = {"operators": ["exp"], "shapes": ["float32[2]"], "used": ["exp"], "eager_ms": 0.5, "roofline_ms": 1.0}
        self.assertTrue(worker._are_facts(honest, worker._RUN))
        for wrong in ({"used": None}, {"shapes": [1]}, {"eager_ms": "0.5"}, {"roofline_ms": float("nan")},
                      {"compile_ms": 0.5}, {"eager_ms": True}, {"eager_ms": 10**400}, {"eager_ms": 10**20},
                      {"used": ["\ud800"]}):
            self.assertFalse(worker._are_facts({**honest, **wrong}, worker._RUN), wrong)
        self.assertFalse(worker._are_facts(honest, worker._FACTS["run_all"]))

    def test_a_gigabyte_of_text(self):
        code = program("for _ in range(1 << 10): print('x' * (1 << 20))\nreturn x * 2")
        self.assertEqual(reason_of(code), "too_much_output")

    def test_a_task_that_prints(self):
        silent = LIMITS._replace(silent=True)
        for line in ("print('hello')", "os.write(1, b'hello')", "sys.stdout.write('hello')"):
            with self.assertRaises(Rejected) as refused:
                code = program(f"{line}\nreturn F.gelu(x)", top="import os, sys")
                child.run(lambda say: Evaluation(code, (), SETTINGS, say).run(), silent)
            self.assertEqual((refused.exception.reason, refused.exception.detail[:5]), ("prints", "hello"), line)
        warns = program("print('hello', file=sys.stderr)\nreturn F.gelu(x)", top="import sys")
        self.assertIsNone(reason_of(warns, limits=silent), "libraries warn on standard error too")
        fails = program("print('hello')\nraise ValueError")
        self.assertEqual(reason_of(fails, limits=silent), "raises", "the other reason says more")

    def test_a_first_call_far_above_the_window(self):
        for line in ("while True: pass", "torch.matrix_exp(torch.ones(1500, 1500))\nwhile True: pass"):
            with self.assertRaises(Rejected) as refused:
                code = program(f"{line}\nreturn F.gelu(x)")
                settings = {**SETTINGS, "window": [0.05, 5.0]}
                child.run(lambda say: Evaluation(code, (), settings, say).run(), LIMITS._replace(seconds=600.0))
            self.assertEqual(refused.exception.reason, "too_slow")
            self.assertEqual(refused.exception.detail, "the first call took more than 100 times the window")

    def test_code_that_never_returns(self):
        limits = LIMITS._replace(seconds=1.0, waits=4.0)
        self.assertEqual(reason_of(program("while True: pass"), limits=limits), "timed_out")
        self.assertEqual(reason_of(program("while True: pass"), limits=limits._replace(waits=99.0)), "timed_out")
        self.assertEqual(reason_of(program("time.sleep(99)", top="import time"), limits=limits), "timed_out")

    def test_too_much_memory(self):
        self.assertEqual(reason_of(program("return torch.ones(1 << 33) + x.sum()")), "too_much_memory")

    def test_a_process_that_dies(self):
        self.assertEqual(reason_of(program("os.abort()", top="import os")), "died")
        self.assertEqual(reason_of(program("os._exit(0)", top="import os")), "died")


class OrphansTest(unittest.TestCase):
    def test_processes_that_leave_their_parent_are_ended(self):
        namespaces.adopt_orphans()
        limits = child.Limits(seconds=10.0, folder="/tmp", compiler=True)
        code = program("ctypes.CDLL(None).fork()\nos.setsid()\nreturn x * 2", top="import ctypes, os")
        with self.assertRaises(Rejected):
            child.run(lambda say: Evaluation(code, (), SETTINGS, say).run(), limits)
        self.assertEqual(child._children(), [])


VIEW = """
import ctypes, os, sys
sys.path.insert(0, sys.argv[1])
import namespaces
folder = sys.argv[2]
namespaces.enter(folder, 1 << 20)
open(folder + "/mine", "w").write("x")
open("/dev/null", "w").write("x")
assert len(open("/dev/urandom", "rb").read(8)) == 8
print(*sorted(os.listdir("/dev")))

def named(say):
    libc = ctypes.CDLL(None)
    return [libc.open(p.encode(), os.O_WRONLY) > 0 for p in
            ("/proc/self/task/%d/comm" % os.getpid(), "/proc/self/comm", "/proc/sys/kernel/hostname")]

def capabilities(say):
    lines = open("/proc/self/status").read().splitlines()
    return sorted({line.split()[1] for line in lines if line.startswith("Cap")})

def freed(say):
    libc = ctypes.CDLL(None)
    writable = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
    found = [libc.syscall(442, -100, b"/", 0x8000, ctypes.byref(writable), ctypes.c_size_t(32))]
    return found + [libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0), libc.open(outside, os.O_WRONLY | os.O_CREAT, 0o600)]

import child
from reasons import Rejected
outside = os.fsencode(sys.argv[1] + "/planted")
for device in ("cuda", "cpu"):
    print(*child.run(named, child.Limits(device=device, folder=folder))[0])
    print(*child.run(capabilities, child.Limits(device=device, folder=folder))[0])
    for compiler in (False, True):
        try:
            print(*child.run(freed, child.Limits(device=device, folder=folder, compiler=compiler))[0])
        except Rejected as error:
            print(error.reason)
open(sys.argv[1] + "/planted", "w")
"""


class ViewTest(unittest.TestCase):
    def test_a_worker_sees_no_disk_and_writes_to_its_own_folder_and_threads_only(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-B", "-c", VIEW, str(support.WORKER), folder], capture_output=True,
                                  text=True, timeout=240)
        if "namespaces: Operation not permitted" in done.stderr:
            self.skipTest("user namespaces are refused")
        devices, *lines = done.stdout.splitlines()
        on_a_gpu, on_a_cpu = lines[:4], lines[4:]
        none = "0000000000000000"
        self.assertEqual(on_a_gpu, ["True False False", none, "-1 -1 -1", "-1 -1 -1"], done.stderr)
        self.assertEqual(on_a_cpu, ["False False False", none, "forbidden_call", "forbidden_call"], done.stderr)
        seen = {name for name in devices.split() if not name.startswith("nvidia")}
        self.assertEqual(seen, {"null", "zero", "full", "random", "urandom"}, done.stderr)
        self.assertIn("Read-only file system", done.stderr)


if __name__ == "__main__":
    unittest.main()
