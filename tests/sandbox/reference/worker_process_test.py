# SPDX-License-Identifier: Apache-2.0
# The reference worker as a process: requests and answers over its socket.
import contextlib
import os
import socket
import subprocess
import sys
import unittest
import unittest.mock

import torch
from worker_support import NO_GPU, ROOT, GpuMemory, code, device, devices

import kernel_counters
import kernel_trace
import main
from frames import Peer

_DEADLINE_S = 240

_WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
from device_memory import DeviceMemory
place = torch.device("cuda", 0)
torch.zeros(1, device=place)
memory = DeviceMemory(int(sys.argv[2]), int(sys.argv[3]), False, place)
view = memory.view(torch.float32, [1024], 1024, 0)
print(float(view.sum()), flush=True)
try:
    view.fill_(1)
    torch.cuda.synchronize()
    print("written", flush=True)
except Exception as error:
    print("faulted", flush=True)
sys.stdout.flush()
import os
os._exit(0)
"""


class Process:
    def __init__(self):
        ours, theirs = socket.socketpair()
        self.peer = Peer(ours.detach())
        self.peer.socket.settimeout(_DEADLINE_S)
        program = ("import os, sys; os.dup2(int(sys.argv[1]), 3); "
                   "os.execv(sys.executable, [sys.executable, '-B', sys.argv[2]])")
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "runtime/python")}
        self.child = subprocess.Popen(
            [sys.executable, "-c", program, str(theirs.fileno()), str(ROOT / "sandbox/reference/worker/main.py")],
            pass_fds=[theirs.fileno(), 3] if self._open(3) else [theirs.fileno()], env=environment)
        theirs.close()

    @staticmethod
    def _open(fd):
        with contextlib.suppress(OSError):
            os.fstat(fd)
            return True
        return False

    def ask(self, **request):
        self.peer.send(request)
        return self.peer.receive()

    def end(self):
        self.peer.socket.close()
        self.child.wait(_DEADLINE_S)


class Cases:
    name = ""

    @classmethod
    def setUpClass(cls):
        cls.worker = Process()
        cls.addClassCleanup(cls.worker.end)
        cls.facts = cls.worker.ask(op="hello", device=cls.name)

    def load(self, key, text, **options):
        return self.worker.ask(op="load", key=key, code=text, **options)

    def test_an_unknown_lane_is_an_error_and_the_worker_continues(self):
        answer = self.load("lane", code("return a[0] * 2"), lane="bf16")
        self.assertEqual((answer["ok"], answer["refused"]), (False, False))
        self.assertIn('no lane is called "bf16"', answer["error"])
        self.assertTrue(self.load("lane", code("return a[0] * 2"), lane="tf32_allowed")["ok"])

    def test_an_unknown_baseline_is_an_error(self):
        self.load("which", code("return a[0] * 2"))
        self.assertIn("default, tuned or graphed", self.worker.ask(op="compile", key="which", which="best")["error"])

    def test_loading_in_another_lane_drops_compiled_code(self):
        text = code("return torch.relu(a[0]) + 1", "[torch.randn(64, 64)]")
        self.load("twice", text)
        answer = self.worker.ask(op="compile", key="twice")
        self.assertEqual((answer["ok"], answer.get("ready"), answer.get("reason")), (True, True, ""), answer)
        self.assertTrue(self.load("twice", text)["compiled"])
        self.assertFalse(self.load("twice", text, lane="tf32_allowed")["compiled"])


class CpuProcessTest(Cases, unittest.TestCase):
    name = "cpu"

    def test_reports_its_stack(self):
        self.assertTrue(self.facts["ok"])
        self.assertEqual(self.facts["torch"], torch.__version__)
        self.assertNotIn("device_name", self.facts)

    def test_a_profile_is_refused_with_the_reason(self):
        self.load("profile", code("return a[0] * 2"))
        answer = self.worker.ask(op="profile", key="profile")
        self.assertEqual((answer["ok"], answer["refused"]), (False, True))
        self.assertIn("no kernels", answer["error"])

    def test_kernels_of_a_trace_are_in_order_and_start_at_zero(self):
        args = {"grid": [4, 1, 1], "block": [128, 1, 1], "registers per thread": 40, "shared memory": 2048}
        kernels = kernel_trace.kernels_of([
            {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "ts": 1007.5, "dur": 2, "args": {"bytes": 64}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 900, "dur": 9},
            {"ph": "X", "cat": "kernel", "name": "k" * 300, "ts": 1000.0, "dur": 5.5, "args": args},
            {"ph": "M", "name": "process_name"}])
        self.assertEqual(kernels, [
            {"kind": "kernel", "name": "k" * 200, "start_us": 0.0, "device_us": 5.5, "grid": [4, 1, 1],
             "block": [128, 1, 1], "registers": 40, "shared_bytes": 2048, "bytes": 0},
            {"kind": "fill", "name": "Memset (Device)", "start_us": 7.5, "device_us": 2.0, "grid": [], "block": [],
             "registers": 0, "shared_bytes": 0, "bytes": 64}])
        self.assertEqual(kernel_trace.kernels_of([]), [])

    def test_kernels_without_counters_have_the_reason(self):
        device = unittest.mock.Mock()
        kernels = [{"kind": "kernel", "name": "k"}]
        for path, reason in (("", "counts nothing"), ("/nowhere/counters.so", "/nowhere/counters.so")):
            with unittest.mock.patch.dict(os.environ, {"WARPSMITH_COUNTERS": path}):
                self.assertIn(reason, kernel_counters.add(device, device.call, kernels))
        self.assertNotIn("counters", kernels[0])
        self.assertEqual(kernel_counters.add(device, device.call, [{"kind": "copy"}]), "")
        device.call.assert_not_called()

    def test_a_graph_is_not_ready_and_says_why(self):
        self.load("graph", code("return a[0] * 2"))
        answer = self.worker.ask(op="compile", key="graph", which="graphed")
        self.assertEqual((answer["ok"], answer["ready"], answer["reason"]), (True, False, "a CPU has no graphs"))

    @unittest.skipUnless(NO_GPU, "this machine has a GPU")
    def test_a_missing_gpu_is_reported_as_an_answer(self):
        answer = self.worker.ask(op="hello", device="cuda")
        self.assertEqual((answer["ok"], answer["refused"]), (False, False))
        self.assertIn("no GPU can be used", answer["error"])
        self.assertTrue(self.worker.ask(op="hello")["ok"])

    def test_an_old_driver_is_named_with_the_version_that_torch_needs(self):
        self.assertEqual(devices._why_unusable(RuntimeError("x"), (12, 4), "13.0"),
                         "the driver is for CUDA 12.4, older than torch's CUDA 13.0")
        self.assertEqual(devices._why_unusable(RuntimeError("x\ny"), (13, 0), "13.0"), "no GPU can be used: x")

    def test_an_unknown_device_is_reported_as_an_answer(self):
        self.assertIn('no device is called "tpu"', self.worker.ask(op="hello", device="tpu")["error"])

    def test_refuses_inputs_beyond_the_limit_of_a_cpu(self):
        answer = self.load("large", code("return a[0] * 2", "[torch.zeros(2**26 + 1) + torch.randn(1)]"))
        self.assertEqual((answer["ok"], answer["refused"]), (False, True))

    def test_returns_the_signature_of_tasks_that_fit_and_of_tasks_that_do_not(self):
        large = code("return a[0] * self.w", "[torch.randn(2**20, 2**12)]", "self.w = nn.Parameter(torch.ones(2**12))")
        answer = self.worker.ask(op="signature", key="outline", code=large)
        self.assertTrue(answer["ok"], answer)
        self.assertEqual([t["shape"] for t in answer["signature"]], [[2**20, 2**12], [2**12], [2**20, 2**12]])
        small = code("return a[0] * 2", "[torch.randn(8, 4)]")
        self.assertEqual(self.worker.ask(op="signature", key="small", code=small)["signature"],
                         self.load("small", small)["signature"])

    def test_refuses_what_no_contract_carries_and_names_it(self):
        masked = "self.register_buffer('m', torch.full((8, 4), float('-inf')).triu(1))"
        small = "[torch.randn(8, 4)]"
        counts = "self.n = getattr(self, 'n', 0) + 1; return (a[0],) * self.n"
        for text, why in (
            (code("return a[0] + self.m", small, masked), "parameter m holds values that are not finite"),
            (code("return a[0] + a[1]", "[torch.randn(2), torch.tensor([1, float('nan')])]"),
             "input x1 holds values that are not"),
            (code("return a[0].to_sparse()", small), "output 0 is a sparse or nested tensor"),
            (code("return a[0].to_dense()", "[torch.randn(8, 4).to_sparse()]"), "input a is a sparse or nested tensor"),
            (code("return torch.quantize_per_tensor(a[0], 0.1, 0, torch.qint8)", small),
             "output 0 has dtype torch.qint8"),
            (code("return ()", small), "forward gave no output"),
            (code(counts, small), "forward gave 1 outputs, then 2"),
            (code("return (a[0] * 2,) * 5000", small), "the signature has 5001 tensors, more than 4096"),
            (code("return a[0].reshape((8, 4) + (1,) * 15)", small), "output y: more than 16 axes"),
            (code("return a[0].to('meta')", small), 'output 0 is on the device "meta"'),
            (code("return a[0]", "[torch.empty(2, device='meta')]"), "get_inputs raised NotImplementedError"),
            (code("return a[0]", small, "self.t = torch.empty(2, device='meta')"),
             "Model raised NotImplementedError"),
        ):
            answer = self.load(why, text)
            self.assertEqual((answer["ok"], answer["refused"]), (False, True), answer)
            self.assertIn(why, answer["error"])

    def test_a_fault_of_the_device_refuses_no_task(self):
        answer = self.load("fault", code("raise torch.AcceleratorError('CUDA error: unspecified launch failure')"))
        self.assertEqual((answer["ok"], answer["refused"]), (False, False), answer)
        self.assertIn("unspecified launch failure", answer["error"])

    def test_lack_of_memory_refuses_a_task_only_for_now(self):
        small = device("managed")
        self.addCleanup(setattr, small, "room", small.room)
        worker = main.Worker(peer=None)
        worker.device, text = small, code("return a[0] * 2", "[torch.rand(100, 1000)]")
        for small.room, answer in ((100_000, True), (2_000_000, True), (1 << 40, None)):
            self.assertEqual(worker.answer({"op": "load", "key": "k", "code": text, "sets": 3}).get("passing"), answer)
        self.assertFalse(worker.answer({"op": "load", "key": "none", "code": "x = 1"})["passing"])

    def test_a_lone_surrogate_in_a_text_does_not_break_the_answer(self):
        answer = self.load("half", code("raise ValueError('\\ud800')"))
        self.assertRegex(answer["error"], r"^forward raised ValueError: \? \(task.py, line \d+, in forward\)$")

    def test_an_error_without_a_text_refuses_only_its_task(self):
        mute = "class Mute(Exception):\n    def __str__(self):\n        raise RuntimeError('gotcha')\n"
        for text, where in ((mute + "raise Mute()\n", "the task's text"),
                            (mute + code("raise Mute()"), "forward")):
            answer = self.load(where, text)
            self.assertEqual((answer["ok"], answer["refused"]), (False, True), answer)
            self.assertRegex(answer["error"],
                             rf"^{where} raised Mute: its text is not available \(task.py, line \d+, in .*\)$")
        self.assertTrue(self.load("after", code("return a[0] * 2"))["ok"])

    def test_refuses_the_signature_of_code_without_a_task(self):
        answer = self.worker.ask(op="signature", key="none", code="x = 1")
        self.assertEqual((answer["ok"], answer["refused"], answer["error"]), (False, True, "the task defines no Model"))


@unittest.skipIf(NO_GPU, NO_GPU)
class GpuProcessTest(Cases, unittest.TestCase):
    name = "cuda"

    def test_reports_its_device(self):
        self.assertTrue(self.facts["ok"], self.facts)
        self.assertGreater(self.facts["memory_bytes"], 1 << 30)
        self.assertRegex(self.facts["capability"], r"^\d+\.\d$")
        self.assertTrue(self.facts["device_name"] and self.facts["driver"])

    def test_profiles_the_kernels_of_eager_and_compile(self):
        self.load("profile", code("return torch.relu(self.l(a[0])) * 2", init="self.l = nn.Linear(256, 64)"))
        answer = self.worker.ask(op="profile", key="profile")
        self.assertTrue(answer["ok"], answer)
        for which in ("eager", "compiled"):
            self.assertEqual(answer[which]["reason"], "")
            self.assertGreaterEqual(len(answer[which]["kernels"]), 1)
            for kernel in answer[which]["kernels"]:
                self.assertEqual(kernel["kind"], "kernel")
                self.assertGreater(kernel["device_us"], 0)
                self.assertEqual((len(kernel["grid"]), len(kernel["block"])), (3, 3))
                self.assertGreater(kernel["registers"], 0)
        self.assertGreaterEqual(len(answer["eager"]["kernels"]), len(answer["compiled"]["kernels"]))

    def test_the_tuned_baseline_becomes_ready(self):
        self.load("tuned", code("return torch.relu(a[0] @ a[0])", "[torch.randn(512, 512)]"))
        answer = self.worker.ask(op="compile", key="tuned", which="tuned")
        self.assertEqual((answer["ok"], answer.get("ready")), (True, True), answer)

    def test_tasks_beyond_the_limit_of_a_cpu_load(self):
        answer = self.load("large", code("return a[0] * 2", "[torch.rand(2**27)]"))
        self.assertTrue(answer["ok"], answer)
        self.assertAlmostEqual(answer["signature"][0]["mean"], 0.5, places=3)

    def test_a_write_to_an_input_faults_only_the_writer(self):
        memory = GpuMemory(1 << 20, device("cuda").place)
        self.addCleanup(memory.close)
        view = memory.view(torch.float32, [1024], 1024, 0).fill_(3)
        torch.cuda.synchronize()
        os.set_inheritable(memory.fd, True)
        folder = str(ROOT / "sandbox/reference/worker")
        writer = [sys.executable, "-c", _WRITER, folder, str(memory.fd), str(memory.size)]
        out = subprocess.run(writer, pass_fds=[memory.fd], capture_output=True, text=True, timeout=_DEADLINE_S)
        self.assertEqual(out.stdout.split(), ["3072.0", "faulted"], out.stderr[-500:])
        self.assertEqual(float(view.sum()), 3072)
        del view


if __name__ == "__main__":
    unittest.main()
