# SPDX-License-Identifier: Apache-2.0
# Asks the engine's sandbox to ingest tasks: writes them as files and calls `warpsmith bench tasks --json`.
import json
import os
import pathlib
import signal
import subprocess

import sealing
from owned_folder import OwnedFolder

CONTRACTS = {"cpu": "cpu", "cuda": "device"}  # by the device that a set was made for
INTERRUPTED = 130
_PATIENCE_S = 30.0  # wait for the answers so far, after Ctrl-C
# Failures that say nothing about the task: the machine's disk, or another process.
_MACHINE = ("io_failed", "disk_full", "locked", "peer_lost")
_UNSETTLED = ("infrastructure", "process_failed", "timeout", "capacity", "corrupt")  # may end otherwise next time


class Unable(Exception):
    """The sandbox cannot ingest any task here; the text says why."""


class Sandbox:
    """The program that ingests tasks, with its options."""

    def __init__(self, program, contract, slots=1, gpu=0):
        self.options = [program, "bench", "tasks", "--json", "--contract", contract, "--slots", str(slots)]
        self.options += ["--gpu", str(gpu)] if contract != "cpu" else []

    def take_in(self, rows):
        """Answers by the row's id, fewer after Ctrl-C, and whether there was a Ctrl-C. Raises Unable, and Broken."""
        with OwnedFolder() as folder:
            for row in rows:
                pathlib.Path(folder, f"{row['id']}.py").write_text(row["code"])
            status, out, error = self._run(folder)
        if status not in (0, INTERRUPTED):
            raise Broken(f"bench tasks ended with exit status {status}: {_last(error)}")
        return _answers(out.replace(f"{folder}/", "")), status == INTERRUPTED

    def _run(self, folder):
        try:
            process = subprocess.Popen([*self.options, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, errors="replace", start_new_session=True,
                                       preexec_fn=sealing.die_with_parent)
        except OSError as error:
            raise Unable(f"{self.options[0]}: {error.strerror}; --program names the program `warpsmith`") from error
        with process:
            try:
                return _ended(process)
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)
                return INTERRUPTED, *_ended(process, _PATIENCE_S)[1:]


class Broken(Exception):
    """A call returned no answers; the text says how it ended."""


def _ended(process, patience_s=None):
    try:
        out, error = process.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        out, error = process.communicate()
    except BaseException:
        if patience_s is not None:
            process.kill()
        raise
    return process.returncode, out, error


def _last(text):
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no message")


def _answers(out):
    """What the program said about each task; {} if it was stopped before it said anything."""
    if not out.strip():
        return {}
    try:
        tasks = json.loads(out)["tasks"]
        return {_id(task["task"]): _answer(task) for task in tasks}
    except (ValueError, KeyError, TypeError) as error:
        raise Unable(f"bench tasks printed another form than this synth reads ({error!r}): build both again") from error


def _id(name):
    """A task's id; a file without one is named by its path."""
    return os.path.basename(name).removesuffix(".py")


def _answer(task):
    code = task["refusal_code"]
    if code in _MACHINE:
        raise Unable(task["refusal"])
    refusal = task["refusal"] or task["insensitive"] and f"wrong answers would pass: {task['insensitive']}"
    return {"refusal": refusal, "unsettled": code in _UNSETTLED, "seconds": round(task["ingest_s"], 6)}
