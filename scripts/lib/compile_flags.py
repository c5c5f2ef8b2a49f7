# SPDX-License-Identifier: Apache-2.0
"""Compile commands of the build tree, for the checks that compile something else with them."""

import functools
import json
import os
import re
import shlex


@functools.cache
def text_of(source):
    with open(source, encoding="utf-8") as file:
        return file.read()


def load(build):
    """Source path (relative to the working directory) → compiler arguments, without the compiler
    cache in front, precompiled headers, the output, the dependency file and the source itself."""
    return {source: flags for _, sources, flags in units(build) for source in sources}


def units(build):
    """Of each compiled file: its path, the sources in it (relative paths) and the arguments as in `load`."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    for entry in entries:
        unit = os.path.join(entry["directory"], entry["file"])
        yield (unit, [os.path.relpath(source) for source in sources_of(unit)],
               flags_of(shlex.split(entry["command"]), entry["directory"]))


def sources_of(file):
    """The sources that are compiled together as `file`; usually only the file."""
    if "/Unity/unity_" not in file:
        return [file]
    return re.findall(r'#include "(.*)"', text_of(file))


def flags_of(words, directory):
    flags = []
    takes_one = {"-o", "-MF", "-MT", "-MQ", "-c", "-include"}
    start = next(i for i, word in enumerate(words) if word.startswith("-"))
    words = iter(words[start:])
    for word in words:
        if word in takes_one:
            next(words)
        elif word in ("-MD", "-MMD", "-Winvalid-pch"):
            continue
        elif word.startswith("-I") and len(word) > 2:
            flags.append("-I" + os.path.normpath(os.path.join(directory, word[2:])))
        else:
            flags.append(word)
    return flags


def includes(source, header):
    """Whether a source names the header, from the root or from its own folder."""
    folder, name = os.path.split(header)
    names = [header] + [name] * (folder == os.path.dirname(source))
    return any(f'#include "{n}"' in text_of(source) for n in names)


def nearest(commands, header):
    """The flags of a source that includes the header; of those, or of all, of the one that shares
    most of its folders with it."""
    def order(source):
        common = os.path.commonpath([os.path.dirname(header) or ".", os.path.dirname(source) or "."])
        return includes(source, header), len(common), source.rsplit(".", 1)[0] == header.rsplit(".", 1)[0]
    top = header.split("/")[0]
    candidates = [source for source in commands if source.split("/")[0] == top] or list(commands)
    return commands[max(candidates, key=order)]
