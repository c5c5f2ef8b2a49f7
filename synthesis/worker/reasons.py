# SPDX-License-Identifier: Apache-2.0
# The closed list of reasons for which a candidate is rejected, by the steps that find them.

REASONS = {
    "not_composed": "the composer found no program for this index",
    "no_answer": "the language model's endpoint gave no completion",
    "bad_row": "the row lacks the text, or holds more than 1 MiB",
    "no_python": "the text is no Python",
    "missing_name": "Model, get_inputs or get_init_inputs is not defined",
    "duplicate": "an accepted task has the same syntax tree, names apart",
    "similar": "Model is too similar to a program that tasks must stay away from",
    "same_signature": "the same operators and shapes as such a program",
    "raises": "loading, building, drawing inputs or running raises an error",
    "bad_output": "the output is no tensor, is empty or not finite",
    "random": "forward calls a random operator",
    "nondeterministic": "two runs on the same inputs differ",
    "changes_input": "forward writes into its inputs",
    "op_unused": "no output depends on a declared operator",
    "constant": "different inputs give the same output",
    "constant_axis": "the output is constant along an axis",
    "near_zero": "the output is nearly zero everywhere",
    "identity": "the output is an input",
    "too_fast": "one call takes less time than the window allows",
    "too_slow": "one call takes more time than the window allows",
    "compile_raises": "torch.compile raises an error",
    "compile_differs": "eager and torch.compile differ",
    "ingest_refused": "the sandbox's ingest refuses the task: a wrong answer would pass, or no clock can time it",
    "ingest_failed": "the sandbox's ingest came to no end with the task, twice",
    "forks": "the task starts a process",
    "network": "the task opens a socket",
    "writes_files": "the task writes or changes files",
    "forbidden_call": "the task makes a system call that no task needs",
    "prints": "the task prints on standard output",
    "too_much_output": "the task prints more than 64 KiB",
    "too_much_memory": "the task takes more memory than its limit",
    "timed_out": "the task did not end in time",
    "forged": "the task wrote its own report",
    "died": "the process that ran the task died",
}


def storable(text):
    """The text with question marks for what UTF-8 cannot encode, such as half a surrogate pair."""
    return text.encode(errors="replace").decode()


class Rejected(Exception):
    """The candidate is unfit; `reason` is a key of REASONS."""

    def __init__(self, reason, detail=""):
        super().__init__(f"{reason}: {detail}" if detail else reason)
        assert reason in REASONS, reason
        self.reason, self.detail, self.steps = reason, storable(detail)[:300], {}
