# SPDX-License-Identifier: Apache-2.0
"""The official `mcp` client against `warpsmith mcp`. WARPSMITH_TEST_PROGRAM names the program.

Run from the checkout's root: python tests/commands/mcp/mcp_client_test.py. One test times a kernel; it asserts
that times are there and fit each other, not what they are.
"""

import asyncio
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

try:
    import mcp
    from mcp.client.stdio import StdioServerParameters, stdio_client
except ImportError:
    mcp = None

PATIENCE_S = 240
TASK = "configs/tasks/cpu/train/square_mean.py"
RIGHT_KERNEL = """#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float *x = (const float*)in[0], *z = (const float*)in[1];
  float* y = (float*)out[0];
  for (int64_t r = 0; r < dims[0]; ++r) {
    float sum = 0;
    for (int64_t c = 0; c < dims[1]; ++c) {
      const float v = x[r * dims[1] + c] + z[r * dims[1] + c];
      sum += v * v;
    }
    y[r] = sum / (float)dims[1];
  }
}
"""
PLAN = """
[scratch.partial]
dtype = "f32"
shape = ["d0", "ceildiv(d1, 1024)"]

[[step]]
launch = "row_sums"
grid = ["d0", "ceildiv(d1, 1024)"]
block = [256]
args = ["x", "partial", "d1"]
"""


def command(*options):
    return [os.environ["WARPSMITH_TEST_PROGRAM"], "mcp", *options]


@unittest.skipUnless("WARPSMITH_TEST_PROGRAM" in os.environ, "WARPSMITH_TEST_PROGRAM is not set")
class ProtocolTest(unittest.TestCase):
    """Lines as they are, without a client."""

    def answers(self, *lines):
        end = subprocess.run(command(), input="".join(line + "\n" for line in lines), capture_output=True, text=True,
                             timeout=PATIENCE_S)
        self.assertEqual(end.returncode, 0, end.stderr)
        return [json.loads(line) for line in end.stdout.splitlines()]

    def code(self, line):
        return self.answers(line)[0]["error"]["code"]

    def test_wrong_lines_have_the_codes_of_json_rpc(self):
        self.assertEqual(self.code("{"), -32700)
        self.assertEqual(self.code("[" * 100_000), -32700)
        self.assertEqual(self.code("[]"), -32600)
        self.assertEqual(self.code('{"id": 1, "method": "ping"}'), -32600)
        self.assertEqual(self.code('{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}'), -32601)
        self.assertEqual(self.code('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fly"}}'),
                         -32602)
        self.assertEqual(self.code('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}'), -32602)

    def test_a_line_that_is_too_long_is_skipped(self):
        ping = '{"jsonrpc": "2.0", "id": "a", "method": "ping"}'
        long, short = self.answers("x" * (5 << 20), ping)
        self.assertEqual(long["error"]["code"], -32600)
        self.assertEqual(short, {"jsonrpc": "2.0", "id": "a", "result": {}})

    def test_notifications_are_not_answered(self):
        self.assertEqual(self.answers('{"jsonrpc": "2.0", "method": "notifications/initialized"}',
                                      '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}}'), [])

    def test_the_protocols_version_is_agreed_on(self):
        ask = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "%s"}}'
        old, unknown = self.answers(ask % "2024-11-05", ask % "1999-01-01")
        self.assertEqual(old["result"]["protocolVersion"], "2024-11-05")
        self.assertEqual(unknown["result"]["protocolVersion"], "2025-11-25")

    def test_ctrl_c_ends_it(self):
        with subprocess.Popen(command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as server:
            server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
            server.stdin.flush()
            server.stdout.readline()
            server.send_signal(signal.SIGINT)
            self.assertEqual(server.wait(PATIENCE_S), 130)


@unittest.skipIf(mcp is None, "this interpreter has no `mcp`; scripts/requirements.lock lists it")
@unittest.skipUnless("WARPSMITH_TEST_PROGRAM" in os.environ, "WARPSMITH_TEST_PROGRAM is not set")
class ClientTest(unittest.TestCase):
    def session(self, work, *options):
        """Runs the coroutine function `work` with a session."""
        async def run():
            program, *arguments = command("--tasks", "configs/tasks/cpu/train", *options)
            parameters = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
            async with stdio_client(parameters) as (read, write), mcp.ClientSession(read, write) as session:
                await session.initialize()
                return await asyncio.wait_for(work(session), PATIENCE_S)
        return asyncio.run(run())

    def call(self, tool, arguments, *options, **more):
        return self.session(lambda session: session.call_tool(tool, arguments, **more), *options)

    @staticmethod
    def parts(result):
        """Whether it is an error, its text and its object, in whichever case the client names them."""
        body = result.model_dump(by_alias=True)
        return body["isError"], body["content"][0]["text"], body["structuredContent"]

    def test_the_tools_are_listed(self):
        async def work(session):
            return (await session.list_tools()).tools
        names = [tool.name for tool in self.session(work)]
        self.assertEqual(names, ["list_tasks", "check", "verify", "profile", "explain_plan", "submit"])

    def test_tasks_are_listed(self):
        error, text, body = self.parts(self.call("list_tasks", {}))
        self.assertFalse(error)
        self.assertIn("square_mean", text)
        self.assertIn("square_mean", [task["id"] for task in body["tasks"]])

    def test_a_plan_is_explained_or_its_errors_are_placed(self):
        error, text, body = self.parts(self.call("explain_plan", {"plan": PLAN}))
        self.assertFalse(error)
        self.assertTrue(body["valid"])
        self.assertIn("launches kernel row_sums with a grid of (d0, ceildiv(d1, 1024)) blocks", text)
        _, text, body = self.parts(self.call("explain_plan", {"plan": PLAN.replace("block", "blocks")}))
        self.assertFalse(body["valid"])
        self.assertIn("plan.toml:9:", text)

    def test_bad_input_is_an_error_that_says_why(self):
        for arguments, why in [({"task": "square_mean"}, "either solution"),
                               ({"task": "nothing", "files": {}}, "no id"),
                               ({"task": TASK, "files": {"../x": "y"}}, "relative name"),
                               ({"task": TASK, "solution": "no/such/folder"}, "no such file"),
                               ({"task": TASK, "solution": "x", "speed": 1}, "unknown argument")]:
            error, text, _ = self.parts(self.call("verify", arguments))
            self.assertTrue(error, arguments)
            self.assertIn(why, text)

    def test_a_kernel_that_writes_nothing_is_an_answer(self):
        kernel = 'extern "C" void solve(const void* const*, void* const*, const long*) {}'
        result = self.call("verify", {"task": "square_mean", "files": {"kernel.cpp": kernel}})
        error, text, body = self.parts(result)
        self.assertFalse(error, text)
        self.assertEqual(body["verdict"], "nonfinite")
        self.assertIs(body["correct"], False)

    def test_a_broken_kernel_is_a_compile_error(self):
        _, _, body = self.parts(self.call("verify", {"task": TASK, "files": {"kernel.cpp": "int x = ;"}}))
        self.assertEqual(body["verdict"], "compile_error")

    def test_submissions_are_counted_and_limited(self):
        async def work(session):
            files = {"kernel.cpp": "int x = ;"}
            folder, name = os.path.split(TASK)
            with tempfile.NamedTemporaryFile(suffix=".py") as copy:
                shutil.copyfile(TASK, copy.name)
                tasks = TASK, f"{folder}/./{name}", copy.name
                return [await session.call_tool("submit", {"task": task, "files": files}) for task in tasks]
        first, *others = map(self.parts, self.session(work, "--max-submissions", "1"))
        self.assertEqual(first[2]["submission"], 1)
        for other in others:
            self.assertTrue(other[0])
            self.assertIn("submissions of this task are used", other[1])

    def test_a_right_kernel_is_checked_verified_profiled_and_submitted(self):
        """From the list of tasks to the verdict, in one session."""
        async def work(session):
            tasks = self.parts(await session.call_tool("list_tasks", {}))[2]["tasks"]
            task = next(one for one in tasks if one["id"] == "square_mean")["id"]
            kernel = {"task": task, "files": {"kernel.cpp": RIGHT_KERNEL}}
            told = []
            async def progress(done, total, message):
                told.append(message)
            answers = {}
            for tool in ("verify", "profile", "check", "submit"):
                answers[tool] = self.parts(await session.call_tool(tool, kernel, progress_callback=progress))
            return answers, told
        answers, told = self.session(work)
        for tool, (error, text, body) in answers.items():
            if body["verdict"] == "unstable_timing":
                self.skipTest(f"{tool}: the machine gives no stable times: {text}")
            self.assertFalse(error, text)
            self.assertIs(body["correct"], True, text)
            self.assertEqual(body["verdict"], "passed", text)
        self.assertIsNone(answers["verify"][2]["candidate_ms"])
        for tool in ("profile", "check", "submit"):
            body = answers[tool][2]
            for name in ("candidate_ms", "eager_ms", "compile_ms"):
                self.assertGreater(body[name], 0, tool)
            self.assertAlmostEqual(body["speedup_eager"], body["eager_ms"] / body["candidate_ms"],
                                   delta=body["speedup_eager"] / 2)
        self.assertTrue(told, "a call that takes seconds reports progress")
        self.assertEqual(answers["submit"][2]["submission"], 1)


if __name__ == "__main__":
    unittest.main()
