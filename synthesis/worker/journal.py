# SPDX-License-Identifier: Apache-2.0
# The record of a run: one line for each candidate, in the order of their indices. A rerun continues after the last.
import fcntl
import json

FORMAT = 2


class Conflict(Exception):
    """The folder contains a run with other settings."""


def _differing(found, wanted):
    names = [k for k in {**found, **wanted} if found.get(k) != wanted.get(k)]
    return ", ".join(f"{k}: {found.get(k)} there, {wanted.get(k)} now" for k in sorted(names))


def _whole(path):
    data = path.read_bytes()
    return data[:data.rfind(b"\n") + 1]


def _parsed(path, number, line):
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Conflict(f"{path}:{number}: expected a JSON object, so the journal is damaged: choose another folder, or "
                       "remove this one")
    return value


def lines_of(path):
    """All whole lines: the settings, then the records. Raises Conflict."""
    return [_parsed(path, number, line) for number, line in enumerate(_whole(path).splitlines(), 1)]


def settings_of(path):
    """The settings of a run that has a journal. Raises Conflict."""
    first = next(iter(lines_of(path)), {}) if path.exists() else {}
    if first.get("format") != FORMAT or "window" not in first:
        raise Conflict(f"{path}: expected the journal of a folder that `synth` or `synth import` wrote")
    return {name: value for name, value in first.items() if name != "format"}


class Journal:
    """Appends to a file. Removes an unfinished last line of a killed process."""

    def __init__(self, path, settings):
        self.path, self.records = path, []
        settings = {"format": FORMAT, **settings}
        self.file = open(path, "a")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise Conflict(f"{path.parent}: another `synth` works in this folder: wait for it, or choose another folder"
                           ) from None
        try:
            if path.stat().st_size:
                self._read(settings)
            else:
                self._write(settings)
        except BaseException:
            self.file.close()
            raise

    def _read(self, settings):
        rows = lines_of(self.path)
        if len(rows) == 1 and rows[0] != settings and "format" in rows[0]:  # of a run that judged nothing
            self.file.truncate(0)
            self._write(settings)
            return
        if not rows or rows[0] != settings:
            found = rows[0] if rows else {}
            raise Conflict(f"{self.path}: a run with other settings ({_differing(found, settings)}): choose another "
                           "folder, or remove this one")
        self.records = rows[1:]
        with open(self.path, "r+b") as file:
            file.truncate(len(_whole(self.path)))

    def _write(self, value):
        self.file.write(json.dumps(value) + "\n")
        self.file.flush()

    def add(self, record):
        """Appends the record of the next index. Raises OSError if the disk is full; the rerun then continues."""
        self._write(record)
        self.records.append(record)

    def close(self):
        """Ends writing."""
        self.file.close()
