# SPDX-License-Identifier: Apache-2.0
"""Compile commands of the build tree, for the checks that compile something else with them."""

import json
import os
import shlex


def load(build):
    """Source path (relative to the working directory) → compiler arguments, without the compiler
    cache in front, the output, the dependency file and the source itself."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    commands = {}
    for entry in entries:
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]))
        commands[path] = flags_of(shlex.split(entry["command"]), entry["directory"])
    return commands


def flags_of(words, directory):
    flags = []
    takes_one = {"-o", "-MF", "-MT", "-MQ", "-c"}
    start = next(i for i, word in enumerate(words) if word.startswith("-"))
    words = iter(words[start:])
    for word in words:
        if word in takes_one:
            next(words)
        elif word in ("-MD", "-MMD"):
            continue
        elif word.startswith("-I") and len(word) > 2:
            flags.append("-I" + os.path.normpath(os.path.join(directory, word[2:])))
        else:
            flags.append(word)
    return flags


def nearest(commands, path):
    """The flags of the source that shares most of its folders with `path`."""
    def shared(candidate):
        common = os.path.commonpath([os.path.dirname(path) or ".", os.path.dirname(candidate) or "."])
        return len(common), candidate.rsplit(".", 1)[0] == path.rsplit(".", 1)[0]
    top = path.split("/")[0]
    candidates = [source for source in commands if source.split("/")[0] == top] or list(commands)
    return commands[max(candidates, key=shared)]
