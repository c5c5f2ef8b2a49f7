# SPDX-License-Identifier: Apache-2.0
"""The official `mcp` client against `warpsmith mcp`. WARPSMITH_TEST_PROGRAM names the program.

Run from the checkout's root: python tests/commands/mcp/mcp_client_test.py. One test times a kernel; it asserts
that times are there and fit each other, not what they are.
"""

import asyncio
import json
import math
import os
import pathlib
import re
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


UNSEEN_TASK = """import torch
from torch import nn

DEVICE = "cpu"


class Model(nn.Module):
    def forward(self, left, right):
        return left * 0.75 + right * right - 1.5


def get_inputs():
    return [torch.randn(192, 1024), torch.randn(192, 1024)]


def get_init_inputs():
    return []
"""
TO_FILL_IN = "  // Write every element of the outputs here.\n"


def loop_of(told):
    """The module's expression over all elements, by the names and shapes of `read_task`'s answer."""
    expression = re.search(r"return (.*)", told["reference"]).group(1)
    buffers = told["task"]["buffers"]
    for buffer in buffers:
        expression = re.sub(rf"\b{buffer['name']}\b", f"{buffer['name']}[i]", expression)
    output = buffers[-1]
    expression = re.sub(r"\d+\.\d+", r"\g<0>f", expression)
    count = math.prod(output["shape"])
    return f"  for (int64_t i = 0; i < {count}; ++i) {output['name']}[i] = {expression};\n"


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

    def test_a_line_that_is_no_json_is_placed(self):
        answer, = self.answers('{"jsonrpc": "2.0", "id": 1,, "method": "ping"}')
        self.assertEqual(answer["error"]["message"], "a line: expected a message in JSON; byte 28 of the 46 is wrong")

    def test_a_line_that_is_too_long_is_skipped(self):
        ping = '{"jsonrpc": "2.0", "id": "a", "method": "ping"}'
        long, short = self.answers("x" * (5 << 20), ping)
        self.assertEqual(long["error"]["code"], -32600)
        self.assertEqual(short, {"jsonrpc": "2.0", "id": "a", "result": {}})

    def test_notifications_are_not_answered(self):
        self.assertEqual(self.answers('{"jsonrpc": "2.0", "method": "notifications/initialized"}',
                                      '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}}'), [])

    def test_nulls_count_as_absent(self):
        end = '{"jsonrpc": "2.0", "id": 9, "method": "ping"}'
        answers = self.answers('{"jsonrpc": "2.0", "method": "notifications/initialized", "params": null}',
                               '{"jsonrpc": "2.0", "id": 2, "method": "ping", "params": null}',
                               '{"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": null}', end)
        self.assertEqual([answer["id"] for answer in answers], [2, 3, 9])
        self.assertFalse([answer for answer in answers if "error" in answer])

    def test_all_that_was_received_is_answered_before_the_end(self):
        call = {"jsonrpc": "2.0", "method": "tools/call"}
        plan = {"name": "explain_plan", "arguments": {"plan": "x = 1\n"}}
        lines = [json.dumps({**call, "id": number, "params": plan}) for number in range(8)]
        end = subprocess.run(command(), input="\n".join(lines), capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertEqual([json.loads(line)["id"] for line in end.stdout.splitlines()], list(range(8)))

    def test_a_batch_is_taken_where_the_protocol_has_them(self):
        ask = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "%s"}}'
        batch = '[{"jsonrpc": "2.0", "id": 2, "method": "ping"}, {"jsonrpc": "2.0", "id": 3, "method": "ping"}]'
        _, answers = self.answers(ask % "2025-03-26", batch)
        self.assertEqual([answer["id"] for answer in answers], [2, 3])
        _, refused = self.answers(ask % "2025-06-18", batch)
        self.assertIn("2025-03-26", refused["error"]["message"])

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
    def session(self, work, *options, tasks="configs/tasks/cpu/train"):
        """Runs the coroutine function `work` with a session."""
        async def run():
            program, *arguments = command("--tasks", tasks, *options)
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
        self.assertEqual(names, ["list_tasks", "read_task", "check", "verify", "profile", "explain_plan", "submit"])

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
        for arguments, why in [({"task": "square_mean"}, "got neither"),
                               ({"task": "nothing", "files": {}}, "no id; list_tasks"),
                               ({"task": "square_meen", "files": {}}, 'the nearest is "square_mean"'),
                               ({"task": 5, "files": {}}, "task: expected a string, got 5"),
                               ({"task": TASK, "files": {"a.txt": "x"}}, "files: expected kernel.cpp"),
                               ({"task": TASK, "contract": "cpux", "files": {}}, "contract cpux: expected cpu"),
                               ({"task": TASK, "files": {"../x": "y"}}, "relative name"),
                               ({"task": TASK, "solution": "no/such/folder"}, "no such file"),
                               ({"task": TASK, "solution": "x", "slution": 1}, 'the nearest is "solution"')]:
            error, text, _ = self.parts(self.call("verify", arguments))
            self.assertTrue(error, arguments)
            self.assertIn(why, text)
            self.assertNotIn("warpsmith-tmp", text)
            self.assertNotIn("json.exception", text)

    def test_a_kernel_that_writes_nothing_is_an_answer(self):
        kernel = 'extern "C" void solve(const void* const*, void* const*, const long*) {}'
        result = self.call("verify", {"task": "square_mean", "files": {"kernel.cpp": kernel}})
        error, text, body = self.parts(result)
        self.assertFalse(error, text)
        self.assertEqual(body["verdict"], "nonfinite")
        self.assertIs(body["correct"], False)
        self.assertNotIn("jail:", text)

    def test_the_jail_is_shown_on_request(self):
        kernel = {"task": "square_mean", "files": {"kernel.cpp": RIGHT_KERNEL}}
        error, text, body = self.parts(self.call("verify", {**kernel, "jail": True}))
        self.assertFalse(error, text)
        self.assertIn("jail:", text)
        self.assertTrue(body["jail"])

    def test_a_kernel_is_judged_on_every_size_that_the_task_declares(self):
        large = UNSEEN_TASK.replace("192", "256").partition("def get_inputs")[2].partition("def get_init")[0]
        kernel = ('#include "warpsmith.h"\nextern "C" void solve(const void* const* in, void* const* out, '
                  "const int64_t*) {\n  const float *left = (const float*)in[0], *right = (const float*)in[1];\n"
                  "  for (int i = 0; i < 192 * 1024; ++i) "
                  "((float*)out[0])[i] = left[i] * 0.75f + right[i] * right[i] - 1.5f;\n}\n")
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(f"{UNSEEN_TASK}\n\ndef get_inputs_LARGE{large}")
            file.flush()
            _, text, body = self.parts(self.call("verify", {"task": file.name, "files": {"kernel.cpp": kernel}}))
        self.assertEqual([one["verdict"] for one in body["declared_shapes"]], ["passed", "nonfinite"], text)
        self.assertEqual(body["verdict"], "nonfinite")
        self.assertIn("get_inputs_LARGE: nonfinite", text)

    def test_a_broken_kernel_is_a_compile_error(self):
        _, _, body = self.parts(self.call("verify", {"task": TASK, "files": {"kernel.cpp": "int x = ;"}}))
        self.assertEqual(body["verdict"], "compile_error")

    def test_submissions_are_counted_and_limited(self):
        async def work(session):
            folder, name = os.path.split(TASK)
            with tempfile.NamedTemporaryFile(suffix=".py") as copy:
                shutil.copyfile(TASK, copy.name)
                calls = [(task, f"int x = ;{ending}") for ending in ("", "//")
                         for task in (TASK, f"{folder}/./{name}", copy.name)]
                return [await session.call_tool("submit", {"task": task, "files": {"kernel.cpp": text}})
                        for task, text in calls]
        first, *others = map(self.parts, self.session(work, "--max-submissions", "1"))
        self.assertEqual((first[2]["submission"], first[2]["repeated"]), (1, False))
        for error, text, body in others[:2]:
            self.assertFalse(error, text)
            self.assertEqual((body["submission"], body["repeated"]), (1, True), "the same is not counted again")
        for error, text, _ in others[2:]:
            self.assertTrue(error)
            self.assertIn("submissions of this task are used", text)

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

    def test_a_task_is_read_without_a_workspace_and_with_its_further_sizes(self):
        more = UNSEEN_TASK.replace("192", "256").partition("def get_inputs")[2].partition("def get_init")[0]
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(f"{UNSEEN_TASK}\n\ndef get_inputs_LARGE{more}")
            file.flush()
            error, text, told = self.parts(self.call("read_task", {"task": file.name}))
        self.assertFalse(error, text)
        for absent in ("workspace", "Workspace", "## Tools", "`bash`", "solution/"):
            self.assertNotIn(absent, text)
        self.assertEqual(text.count(TO_FILL_IN), 1)
        self.assertEqual(told["further_sizes"], ["get_inputs_LARGE"])
        self.assertIn("further sizes of its inputs: get_inputs_LARGE", text)
        self.assertIn("## What is judged", text)

    def test_an_agent_solves_a_task_that_it_has_not_seen_by_answers_only(self):
        """It knows the protocol, C and that a task is an expression over the elements of its inputs."""
        async def work(session):
            task = self.parts(await session.call_tool("list_tasks", {}))[2]["tasks"][0]["id"]
            _, text, told = self.parts(await session.call_tool("read_task", {"task": task}))
            self.assertIn("class Model", text)
            submission = told["submission"]
            (name, template), = submission["files"].items()
            submission["files"][name] = template.replace(TO_FILL_IN, loop_of(told))
            return text, told, self.parts(await session.call_tool("submit", submission))
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "unseen.py").write_text(UNSEEN_TASK, encoding="utf-8")
            text, told, (error, verdict, body) = self.session(work, tasks=folder)
        for part in (told["entry_point"], told["compile_line"], told["skill"], told["reference"], TO_FILL_IN,
                     *told["headers"].values()):
            self.assertIn(part.strip(), text)
        self.assertEqual([dim["value"] for dim in told["task"]["dims"]], [192, 1024] * 3)
        if body["verdict"] == "unstable_timing":
            self.skipTest(f"the machine gives no stable times: {verdict}")
        self.assertFalse(error, verdict)
        self.assertEqual((body["verdict"], body["submission"]), ("passed", 1), verdict)


if __name__ == "__main__":
    unittest.main()
