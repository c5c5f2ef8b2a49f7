# SPDX-License-Identifier: Apache-2.0
# The engine's end of the composing worker: what it answers is what `synth` finds with the same seed.
import contextlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import time
import unittest
from unittest import mock

from support import WORKER, Case, command, needs_namespaces

import shared  # noqa: F401  finds frames
from frames import Peer

NODE = f"'{sys.executable}' -B '{WORKER}/main.py' worker"


class Server:
    """A worker, and our end of its socket."""

    def __init__(self):
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)  # as the engine leaves it
        self.peer = Peer(ours.detach())
        self.peer.socket.settimeout(300)
        self.send, self.receive = self.peer.send, self.peer.receive
        # Without its low priority, so that other programs on the cores do not starve it.
        code = (f"import os, runpy, sys; os.dup2({theirs.fileno()}, 3); os.set_inheritable(3, True); "
                f"os.nice = lambda _: 0; sys.argv = [{str(WORKER / 'serve.py')!r}]; sys.path[0] = {str(WORKER)!r}; "
                "runpy.run_path(sys.argv[0], run_name='__main__')")
        threads = {name: text for name, text in os.environ.items() if name != "OMP_NUM_THREADS"}
        self.process = subprocess.Popen([sys.executable, "-B", "-c", code], pass_fds=(theirs.fileno(),),
                                        stderr=subprocess.PIPE, text=True, env=threads)
        theirs.close()

    def end(self):
        self.peer.socket.close()
        return self.process.communicate(timeout=240)[1]


class ServeTest(Case):
    def settings(self):
        return {"seed": 3, "device": "cpu", "against": [], "seconds": 60.0, "memory": 4 << 30,
                "cache": str(self.folder), "folder": str(self.folder / "scratch")}

    def server(self):
        found = Server()
        self.addCleanup(found.process.kill)
        return found

    def test_a_preparation_that_fails_says_why(self):
        (self.folder / "file").touch()
        server = self.server()
        server.send({**self.settings(), "cache": str(self.folder / "file" / "cache")})
        last = server.end().splitlines()[-1]
        self.assertRegex(last, r"^serve: preparation ended with exit status 1: NotADirectoryError: .*file/cache")

    @needs_namespaces
    def test_it_enters_namespaces(self):
        server = self.server()
        server.send(self.settings())
        self.assertIn("torch", server.receive()["versions"])
        theirs = os.readlink(f"/proc/{server.process.pid}/ns/user")
        self.assertNotEqual(theirs, os.readlink("/proc/self/ns/user"))

    def test_a_worker_apart_uses_the_gpu_of_that_number_among_the_visible_ones(self):
        with mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": "5,7"}):
            server = self.server()
        server.send(self.settings() | {"gpu": 1, "llm": {"seconds": 60.0}})
        self.assertIn("torch", server.receive()["versions"])
        end = time.monotonic() + 60
        while (seen := self.variables("CUDA_VISIBLE_DEVICES", server.process.pid))[-1:] != ["7"]:
            self.assertLess(time.monotonic(), end, f"the worker did not start with that GPU: {seen}")
            time.sleep(0.05)
        self.assertEqual(server.end(), "")

    def variables(self, name, pid):
        """The variable in the environments of the process's descendants, parents first."""
        found = []
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # one has ended since
            for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                values = dict(pair.split("=", 1) for pair in
                              pathlib.Path(f"/proc/{child}/environ").read_text().split("\0") if "=" in pair)
                found += [values.get(name), *self.variables(name, int(child))]
        return found

    def test_its_answers_are_those_of_synth(self):
        server = self.server()
        server.send(self.settings())
        self.assertIn("torch", server.receive()["versions"])
        answers = []
        for index in (2, 0, 1):
            server.send({"index": index})
            answers.append(server.receive())
        self.assertEqual([a["index"] for a in answers], [2, 0, 1])
        self.assertEqual(server.end(), "")
        self.assertEqual(server.process.returncode, 0)
        out = self.folder / "set"
        command("--cache", self.folder, "synth", "--count", 3, "--seed", 3, "--workers", 1, "--out", out)
        lines = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()][1:4]
        for answer in answers:
            expected = lines[answer["index"]]
            self.assertEqual(answer["reason"], expected["reason"])
            if not answer["reason"]:
                self.assertEqual(answer["row"]["code"], expected["row"]["code"])
                self.assertTrue((out / "tasks" / f"{answer['row']['id']}.py").exists())

    def test_shares_compiler_and_window_are_those_of_the_settings(self):
        server = self.server()
        server.send(self.settings() | {"shares": "3=1", "window": [0.0001, 10000.0], "compile": "aot_eager"})
        self.assertIn("torch", server.receive()["versions"])
        server.send({"index": 1})
        row = server.receive()["row"]
        self.assertEqual(len(row["ops"]), 3)
        self.assertGreater(row["compile_ms"], 0)

    def test_bad_shares_are_named_as_by_synth(self):
        for text, complaint in (("2", "expected NUMBER=SHARE,…, got 2"), ("2=inf", "expected shares of 1 to 5 and"),
                                ("2=nan", "expected shares of 1 to 5 and"), ("9=1", "expected shares of 1 to 5 and")):
            server = self.server()
            server.send(self.settings() | {"shares": text})
            self.assertIn(f"serve: synthesis.compose.shares: {complaint}", server.process.communicate(timeout=240)[1])

    def test_a_window_in_which_no_composed_task_can_lie_on_a_gpu_is_refused(self):
        server = self.server()
        server.send(self.settings() | {"device": "cuda", "window": [1.0, 1.5]})
        self.assertEqual(server.process.communicate(timeout=240)[1],
                         "serve: synthesis.compose.min_ms 1, synthesis.compose.max_ms 1.5: expected "
                         "synthesis.compose.max_ms above 1.5625 × synthesis.compose.min_ms on a GPU\n")
        self.assertEqual(server.process.returncode, 2)

    def test_a_worker_on_a_node_answers_the_same(self):
        answers = []
        for more in ({}, {"node": NODE}):
            server = self.server()
            server.send(self.settings() | more)
            self.assertIn("torch", server.receive()["versions"])
            for index in (1, 0):
                server.send({"index": index})
                answer = server.receive()
                answers.append((answer["index"], answer["reason"], answer["row"]["code"], answer["row"]["id"]))
            self.assertEqual(server.end(), "")
        self.assertEqual(answers[:2], answers[2:])

    def test_it_ends_with_its_node(self):
        server = self.server()
        server.send(self.settings() | {"node": f"({NODE}) | head -n 1"})
        server.receive()
        server.send({"index": 0})
        self.assertRegex(server.process.communicate(timeout=240)[1], "head -n 1: ended with exit status 0")
        self.assertEqual(server.process.returncode, 1)

    def test_it_tells_that_the_gpu_of_its_worker_apart_is_not_free(self):
        server = self.server()
        server.send(self.settings() | {"node": "echo '{\"ready\": {}}'; echo 'not free' >&2; read line; exit 75"})
        server.receive()
        server.send({"index": 0})
        self.assertRegex(server.process.communicate(timeout=240)[1], "exit status 75: not free\n$")
        self.assertEqual(server.process.returncode, 75)

    def test_it_names_a_node_that_cannot_be_reached_and_one_that_refuses(self):
        for node, status, words in (("nonesuch x", 1, "serve: nonesuch x: ended with exit status 127: .*not found\n$"),
                                    ("echo '{\"refused\": \"no GPU\"}'", 2, "refuses the run: no GPU\n$")):
            server = self.server()
            server.send(self.settings() | {"node": node})
            self.assertRegex(server.process.communicate(timeout=240)[1], words)
            self.assertEqual(server.process.returncode, status)

    def test_a_frame_of_another_form_ends_it_with_a_message(self):
        server = self.server()
        server.peer.socket.sendall(struct.pack("<IIQ", 7, 0, 0))
        self.assertIn("magic 0x7", server.process.communicate(timeout=240)[1])


if __name__ == "__main__":
    unittest.main()
