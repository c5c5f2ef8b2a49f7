# SPDX-License-Identifier: Apache-2.0
# Conversations around kernels: an agent's calls and its tools' answers, in the exact texts of the
# workspace's tools and the judge's feedback.
from dataclasses import dataclass, field

KERNEL = "solution/kernel.cpp"
FILES_LINE = "\nanswer: files"  # ends the prompt of an answer that contains the files
LANGUAGES = {"cu": "cuda", "toml": "toml"}  # by a file's suffix
DISTRIBUTIONS = ("normal", "shifted", "wide", "outlier", "sparse")


def call(tool, **arguments):
    """One tool call in the xml syntax: no escaping, a value between newlines."""
    parameters = "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in arguments.items())
    return f"<tool_call>\n<function={tool}>\n{parameters}</function>\n</tool_call>"


def file_block(source, path=KERNEL):
    """A whole file in an answer without tools."""
    language = LANGUAGES.get(path.rpartition(".")[2], "cpp")
    return f"```{language} {path}\n{source.removesuffix(chr(10))}\n```"


@dataclass
class Conversation:
    """Messages in order; training uses the agent's turns."""

    task_id: str
    messages: list = field(default_factory=list)

    def user(self, text):
        self.messages.append({"role": "user", "content": text, "train": False})
        return self

    def says(self, text):
        self.messages.append({"role": "assistant", "content": text, "train": True})
        return self

    def hears(self, text):
        self.messages.append({"role": "tool", "content": text, "train": False})
        return self

    def writes(self, source, path=KERNEL):
        """`source` ends with a newline, which the call's own newline replaces."""
        text = source.removesuffix("\n")
        self.says(call("write", path=path, content=text))
        return self.hears(f"wrote {path} ({len(text.splitlines())} lines)")

    def edits(self, old, new):
        self.says(call("edit", path=KERNEL, old_string=old, new_string=new))
        return self.hears(f"edited {KERNEL} (1 replacement)")

    def asks(self, tool, answer):
        return self.says(call(tool)).hears(answer)

    def submits(self):
        return self.says(call("submit"))

    def record(self):
        return {"task_id": self.task_id, "messages": self.messages}


def verified(rng):
    return f"passed: 6 of 6 sets, worst error {rng.choice((0.01, 0.02, 0.03, 0.05, 0.08, 0.12)):.2f} of the bound"


def judged_wrong(rng):
    number = rng.randrange(len(DISTRIBUTIONS))
    error = round(10 ** rng.uniform(0.5, 5))
    return f"wrong: set {number + 1} ({DISTRIBUTIONS[number]}): error {error} times the bound"


def profiled(rng, speedup):
    """Times as a profile reports them; `speedup`: typical of the style, over eager."""
    eager = rng.uniform(0.3, 1.5)
    kernel = eager / (speedup * rng.uniform(0.8, 1.25))
    compiled = eager * rng.uniform(0.6, 1.1)
    gbytes, gflops = 4 / kernel, 2 * rng.uniform(1, 6) / kernel
    return (
        f"passed: candidate {kernel:.2f} ms, eager {eager:.2f} ms, compile {compiled:.2f} ms; "
        f"{gbytes:.1f} GB/s, {gflops:.1f} GFLOP/s"
    )
