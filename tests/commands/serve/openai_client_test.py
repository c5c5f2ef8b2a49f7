# SPDX-License-Identifier: Apache-2.0
"""The official `openai` client against `warpsmith serve`. WARPSMITH_TEST_PROGRAM names the program.

Run from the checkout's root: python tests/commands/serve/openai_client_test.py."""

import concurrent.futures
import http.client
import json
import os
import re
import signal
import subprocess
import time
import unittest

try:
    import openai
except ImportError:
    openai = None

PATIENCE_S = 240
TOKEN = "a-secret-of-the-test"
NEVER = "\x01\x02never"  # a stop string that no answer holds


class Server:
    """`warpsmith serve` on a free port."""

    def __init__(self, *options, env=None):
        program = os.environ["WARPSMITH_TEST_PROGRAM"]
        self.process = subprocess.Popen(
            [program, "serve", "configs/policy/tiny", "--port", "0", "--chat-template", "chatml", "--tool-syntax",
             "xml", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        line = self.process.stdout.readline()
        found = re.search(r"at (http://127\.0\.0\.1:(\d+)/v1)", line)
        if not found:
            raise RuntimeError(f"no address in {line!r}: {self.process.communicate(timeout=PATIENCE_S)[1]}")
        self.url, self.port = found.group(1), int(found.group(2))

    def client(self, **options):
        return openai.OpenAI(base_url=self.url, api_key=TOKEN, timeout=PATIENCE_S, **{"max_retries": 0, **options})

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def gauge(self, name):
        return float(re.search(rf"^warpsmith_{name} (\S+)$", self.get("/metrics")[1], re.M).group(1))

    def end(self):
        """Ctrl-C; the exit code and what was written to standard error."""
        self.process.send_signal(signal.SIGINT)
        try:
            errors = self.process.communicate(timeout=PATIENCE_S)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, errors


@unittest.skipIf(openai is None, "this interpreter has no `openai`; scripts/requirements.lock lists it")
@unittest.skipUnless("WARPSMITH_TEST_PROGRAM" in os.environ, "WARPSMITH_TEST_PROGRAM is not set")
class ServerTest(unittest.TestCase):
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.options)
        cls.client = cls.server.client()

    @classmethod
    def tearDownClass(cls):
        code, errors = cls.server.end()
        assert code == 0, f"exit code {code}: {errors}"

    def chat(self, **options):
        given = {"model": "tiny", "messages": [{"role": "user", "content": "Write a kernel."}], "seed": 7,
                 "max_tokens": 24, **options}
        return self.client.chat.completions.create(**given)

    def complete(self, **options):
        given = {"model": "tiny", "prompt": "for (int i = 0;", "seed": 7, "max_tokens": 24, **options}
        return self.client.completions.create(**given)


class ChatTest(ServerTest):
    def test_a_chat_has_an_answer_and_its_usage(self):
        answer = self.chat()
        choice = answer.choices[0]
        self.assertEqual(choice.message.role, "assistant")
        self.assertIn(choice.finish_reason, ("stop", "length"))
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
        self.assertLessEqual(answer.usage.completion_tokens, 24)
        self.assertEqual(answer.model, "tiny")

    def test_a_stream_is_the_same_answer(self):
        whole = self.chat()
        chunks = list(self.chat(stream=True, stream_options={"include_usage": True}))
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual(chunks[-1].usage, whole.usage)
        self.assertEqual([c.choices[0].finish_reason for c in chunks if c.choices][-1], whole.choices[0].finish_reason)

    def test_seeds_decide_the_answer_whatever_else_runs(self):
        alone = self.chat(seed=3, max_tokens=60).choices[0].message.content
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda seed: self.chat(seed=seed, max_tokens=60).choices[0].message.content,
                                    [3] * 8 + list(range(100, 124))))
        self.assertEqual(answers[:8], [alone] * 8)
        self.assertGreater(len(set(answers)), 8)

    def test_several_choices_differ_and_the_first_is_that_of_one(self):
        one = self.chat()
        three = self.chat(n=3)
        self.assertEqual([c.index for c in three.choices], [0, 1, 2])
        self.assertEqual(three.choices[0].message.content, one.choices[0].message.content)
        streamed = ["", "", ""]
        for chunk in self.chat(n=3, stream=True):
            for choice in chunk.choices:
                streamed[choice.index] += choice.delta.content or ""
        self.assertEqual(streamed, [c.message.content for c in three.choices])

    def test_log_probs_are_those_of_the_sampled_tokens(self):
        choice = self.chat(logprobs=True).choices[0]
        tokens = choice.logprobs.content
        text = b"".join(bytes(t.bytes) for t in tokens).decode("utf-8", "replace")
        self.assertEqual(text, choice.message.content)
        self.assertTrue(all(t.logprob <= 0 and t.top_logprobs == [] for t in tokens))
        chunks = [c.choices[0] for c in self.chat(logprobs=True, stream=True) if c.choices]
        streamed = [t for c in chunks if c.logprobs for t in c.logprobs.content]
        self.assertEqual(streamed, tokens)

    def test_a_conversation_with_tool_results_is_accepted(self):
        answer = self.chat(tools=[TOOL], messages=[
            {"role": "system", "content": "You use tools."},
            {"role": "user", "content": [{"type": "text", "text": "What is the time?"}]},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "call_1", "type": "function",
                 "function": {"name": "clock", "arguments": "{\"zone\": \"UTC\"}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "12:00"}])
        without = self.chat()
        self.assertGreater(answer.usage.prompt_tokens, without.usage.prompt_tokens + 50)

    def test_a_call_of_the_model_arrives_as_a_tool_call_whole_and_streamed(self):
        ask = {"tools": [WRITE, SUBMIT], "messages": [{"role": "user", "content": OPERATOR}], "temperature": 0,
               "max_tokens": 400}
        choice = self.chat(**ask).choices[0]
        self.assertEqual(choice.finish_reason, "tool_calls")
        call = choice.message.tool_calls[0]
        schema = {t["function"]["name"]: t["function"]["parameters"] for t in ask["tools"]}[call.function.name]
        arguments = json.loads(call.function.arguments)
        self.assertEqual(sorted(arguments), sorted(schema["properties"]))
        parts = [c.choices[0] for c in self.chat(stream=True, **ask) if c.choices]
        streamed = [t.function for p in parts for t in p.delta.tool_calls or ()]
        self.assertEqual("".join(f.name or "" for f in streamed), call.function.name)
        self.assertEqual(json.loads("".join(f.arguments or "" for f in streamed)), arguments)
        self.assertEqual(parts[-1].finish_reason, "tool_calls")

    def test_greedy_answers_need_no_seed(self):
        texts = {self.chat(temperature=0, seed=seed).choices[0].message.content for seed in (None, 1, 2)}
        self.assertEqual(len(texts), 1)


TOOL = {"type": "function", "function": {
    "name": "clock", "description": "The time in a zone.",
    "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}}}


WRITE = {"type": "function", "function": {
    "name": "write", "description": "Writes a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                   "required": ["path", "content"]}}}
SUBMIT = {"type": "function", "function": {
    "name": "submit", "description": "Ends the task.", "parameters": {"type": "object", "properties": {}}}}
# What the tiny policy is trained to answer by calls of these.
OPERATOR = """class Model(nn.Module):
    def forward(self, x, z):
        x = x + z
        x = x * x
        x = x.mean(-1)
        return x
in[0] x f32 [2048, 512]
in[1] z f32 [2048, 512]
out[0] y f32 [2048]
dims 2048 512 2048 512 2048"""


class CompletionTest(ServerTest):
    def test_a_completion_and_its_stream_agree(self):
        whole = self.complete()
        streamed = "".join(c.choices[0].text for c in self.complete(stream=True))
        self.assertEqual(streamed, whole.choices[0].text)

    def test_prompts_may_be_tokens_and_several(self):
        answer = self.complete(prompt=[[5, 6, 7], [8, 9]], n=2, max_tokens=3, extra_body={"ignore_eos": True})
        self.assertEqual(len(answer.choices), 4)
        self.assertEqual(answer.usage.prompt_tokens, 5)
        self.assertEqual(answer.usage.completion_tokens, 12)

    def test_a_stop_string_ends_the_answer_before_it(self):
        whole = self.complete(max_tokens=60).choices[0].text
        stop = whole[20:23]
        cut = self.complete(max_tokens=60, stop=[NEVER, stop])
        self.assertEqual(cut.choices[0].text, whole[:whole.index(stop)])
        self.assertEqual(cut.choices[0].finish_reason, "stop")
        streamed = "".join(c.choices[0].text for c in self.complete(max_tokens=60, stop=stop, stream=True))
        self.assertEqual(streamed, cut.choices[0].text)

    def test_log_probs_of_the_older_form(self):
        answer = self.complete(logprobs=0, max_tokens=5, extra_body={"ignore_eos": True})
        log_probs = answer.choices[0].logprobs
        self.assertEqual(len(log_probs.tokens), 5)
        self.assertEqual(len(log_probs.token_logprobs), 5)
        self.assertEqual(log_probs.text_offset[0], 0)


class ErrorTest(ServerTest):
    def refused(self, kind, call, param=None, code=None):
        with self.assertRaises(kind) as caught:
            call()
        body = caught.exception.body
        self.assertEqual(body["param"], param, body)
        if code:
            self.assertEqual(body["code"], code)
        return body["message"]

    def test_parameters_that_would_change_the_answer_are_refused_by_name(self):
        bad = openai.BadRequestError
        self.refused(bad, lambda: self.chat(top_logprobs=3, logprobs=True), "top_logprobs")
        self.refused(bad, lambda: self.chat(response_format={"type": "json_object"}), "response_format")
        self.refused(bad, lambda: self.chat(frequency_penalty=0.5), "frequency_penalty")
        self.refused(bad, lambda: self.chat(logit_bias={"5": 10}), "logit_bias")
        self.refused(bad, lambda: self.chat(tools=[TOOL], tool_choice="required"), "tool_choice")
        self.refused(bad, lambda: self.chat(extra_body={"min_tokens": 3}), "min_tokens")
        self.refused(bad, lambda: self.complete(echo=True), "echo")

    def test_parameters_without_effect_are_accepted(self):
        self.chat(user="me", metadata={"a": "b"}, presence_penalty=0, response_format={"type": "text"})

    def test_values_out_of_range_name_their_parameter(self):
        bad = openai.BadRequestError
        self.assertIn("from 0", self.refused(bad, lambda: self.chat(temperature=-1), "temperature"))
        self.refused(bad, lambda: self.chat(n=17), "n")
        self.refused(bad, lambda: self.chat(stop=["a"] * 5), "stop")
        self.refused(bad, lambda: self.chat(messages=[{"role": "king", "content": "x"}]), "messages[0].role")
        self.refused(bad, lambda: self.chat(messages=[{"role": "user", "content": [{"type": "image_url"}]}]),
                     "messages[0].content[0]")
        self.refused(bad, lambda: self.complete(prompt=[100000]), "prompt")

    def test_a_prompt_longer_than_the_context_has_its_code(self):
        self.refused(openai.BadRequestError, lambda: self.complete(prompt=[5] * 2048), "prompt",
                     "context_length_exceeded")
        self.refused(openai.BadRequestError, lambda: self.chat(messages=[{"role": "user", "content": "word " * 9000}]),
                     "messages", "context_length_exceeded")

    def test_another_model_is_not_found(self):
        self.refused(openai.NotFoundError, lambda: self.chat(model="gpt-4"), "model", "model_not_found")
        self.assertEqual([m.id for m in self.client.models.list()], ["tiny"])
        self.assertEqual(self.client.models.retrieve("tiny").id, "tiny")
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("gpt-4")

    def post(self, body, content_type="application/json", path="/v1/completions"):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE_S)
        connection.request("POST", path, body, {"Content-Type": content_type})
        answer = connection.getresponse()
        error = json.loads(answer.read())["error"]
        connection.close()
        return answer.status, error

    def test_bodies_that_are_not_requests_are_refused(self):
        self.assertEqual(self.post("{")[0], 400)
        self.assertEqual(self.post("[" * 100_000)[0], 400)
        self.assertEqual(self.post("[]")[0], 400)
        self.assertEqual(self.post("{}", content_type="text/plain")[0], 415)
        self.assertEqual(self.post("{}", path="/v1/embeddings")[0], 404)
        self.assertEqual(self.post("x" * (17 << 20))[0], 413)
        self.assertEqual(self.server.get("/health")[0], 200)


class LoadTest(ServerTest):
    options = ("--max-sessions", "2", "--queue", "2")

    def long_stream(self):
        return self.complete(stream=True, max_tokens=2000, extra_body={"ignore_eos": True})

    def until(self, condition):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), deadline, "waited too long")
            time.sleep(0.02)

    def test_a_full_queue_is_429_and_clients_that_leave_free_it(self):
        streams = []  # four fill it, unless one of them has ended before the last came
        with self.assertRaises(openai.RateLimitError) as caught:
            while len(streams) < 50:
                streams.append(self.long_stream())
        self.assertGreaterEqual(len(streams), 4)
        self.assertGreater(int(caught.exception.response.headers["retry-after"]), 0)
        self.assertEqual(self.server.get("/health")[0], 200)
        for stream in streams:
            stream.response.close()
        self.until(lambda: self.server.gauge("running_sequences") + self.server.gauge("waiting_sequences") == 0)
        self.assertGreater(self.server.gauge("cancelled_requests_total"), 0)
        self.complete()

    def test_a_client_that_leaves_a_whole_answer_is_noticed(self):
        hasty = self.server.client(max_retries=0).with_options(timeout=0.3)
        with self.assertRaises(openai.APITimeoutError):
            hasty.completions.create(model="tiny", prompt="x", max_tokens=2000, extra_body={"ignore_eos": True})
        self.until(lambda: self.server.gauge("running_sequences") == 0)

    def test_metrics_count_requests_and_tokens(self):
        before = self.server.gauge("completion_tokens_total")
        used = self.complete().usage.completion_tokens
        self.assertGreaterEqual(self.server.gauge("completion_tokens_total"), before + used)
        self.assertIn('warpsmith_requests_total{endpoint="/v1/completions",code="200"}', self.server.get("/metrics")[1])


@unittest.skipIf(openai is None, "this interpreter has no `openai`")
@unittest.skipUnless("WARPSMITH_TEST_PROGRAM" in os.environ, "WARPSMITH_TEST_PROGRAM is not set")
class StartTest(unittest.TestCase):
    def refused(self, *options):
        program = os.environ["WARPSMITH_TEST_PROGRAM"]
        end = subprocess.run([program, "serve", *options], capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(end.returncode, 2, end.stderr)
        return end.stderr

    def test_other_machines_need_a_token(self):
        self.assertIn("--token-env", self.refused("configs/policy/tiny", "--host", "0.0.0.0"))
        self.assertIn("NO_SUCH_VARIABLE", self.refused("configs/policy/tiny", "--token-env", "NO_SUCH_VARIABLE"))

    def test_bad_input_names_the_option(self):
        self.assertIn("--device", self.refused("configs/policy/tiny", "--device", "tpu"))
        self.assertIn("--context", self.refused("configs/policy/tiny", "--context", "4096"))
        self.assertIn("no such model folder", self.refused("configs/policy/none"))

    def test_a_token_is_asked_for(self):
        server = Server("--token-env", "SERVE_TOKEN", env={"SERVE_TOKEN": TOKEN})
        try:
            self.assertEqual(server.client().models.list().data[0].id, "tiny")
            with self.assertRaises(openai.AuthenticationError):
                openai.OpenAI(base_url=server.url, api_key="other", max_retries=0).models.list()
            self.assertEqual(server.get("/health")[0], 200)
            self.assertEqual(server.get("/metrics")[0], 401)
        finally:
            self.assertEqual(server.end()[0], 0)

    def test_an_answer_ends_at_the_request_timeout(self):
        server = Server("--max-sessions", "1", "--request-timeout", "1")
        long = {"model": "tiny", "prompt": "x", "max_tokens": 2000, "extra_body": {"ignore_eos": True}}
        try:
            streams = [server.client().completions.create(stream=True, **long) for _ in range(20)]  # before it
            with self.assertRaises(openai.InternalServerError) as caught:
                server.client().completions.create(**long)
            self.assertEqual((caught.exception.status_code, caught.exception.code), (503, "timeout"))
            self.assertIn("--request-timeout", caught.exception.message)
            for stream in streams:
                stream.response.close()
        finally:
            self.assertEqual(server.end()[0], 0)

    def test_ctrl_c_lets_a_stream_finish(self):
        server = Server("--grace", "120")
        stream = server.client().completions.create(model="tiny", prompt="x", seed=1, max_tokens=800, stream=True,
                                                    extra_body={"ignore_eos": True})
        next(stream)
        server.process.send_signal(signal.SIGINT)
        self.assertEqual([c.choices[0].finish_reason for c in stream][-1], "length")
        self.assertEqual(server.process.wait(PATIENCE_S), 0)
        server.process.communicate()

    def test_ctrl_c_cuts_off_answers_that_take_longer_than_the_grace(self):
        tries = (self.end_without_grace() for _ in range(10))
        self.assertTrue(any(end == "cut" for end in tries), "every stream ended on its own")

    def end_without_grace(self):
        """How a stream ended: it may end on its own, just before the server sees Ctrl-C."""
        server = Server("--grace", "0")
        stream = server.client().completions.create(model="tiny", prompt="x", max_tokens=2000, stream=True,
                                                    extra_body={"ignore_eos": True})
        next(stream)
        server.process.send_signal(signal.SIGINT)
        try:
            end = [c.choices[0].finish_reason for c in stream][-1]
            self.assertEqual(end, "length")
        except openai.APIError:
            end = "cut"
        self.assertIn(server.process.wait(PATIENCE_S), (130,) if end == "cut" else (0, 130))
        server.process.communicate()
        return end


if __name__ == "__main__":
    unittest.main()
