# SPDX-License-Identifier: Apache-2.0
# Names what a task attempts, before the kernel refuses it. A task that goes around Python is refused all the same.
import os
import sys

_EVENTS = {
    "os.fork": "forks", "os.forkpty": "forks", "os.exec": "forks", "os.posix_spawn": "forks", "os.spawn": "forks",
    "os.system": "forks", "subprocess.Popen": "forks", "pty.spawn": "forks", "os.kill": "forbidden_call",
    "os.remove": "writes_files", "os.rename": "writes_files", "os.mkdir": "writes_files", "os.rmdir": "writes_files",
    "os.link": "writes_files", "os.symlink": "writes_files", "os.truncate": "writes_files",
    "os.chmod": "writes_files", "os.chown": "writes_files", "shutil.rmtree": "writes_files",
    "tempfile.mkstemp": "writes_files", "tempfile.mkdtemp": "writes_files",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


def _reason(event, args):
    if event.startswith("socket.") and event != "socket.gethostname":
        return "network"
    if event == "open" and isinstance(args[2], int) and args[2] & _WRITING and args[0] != os.devnull:
        return "writes_files"
    return _EVENTS.get(event)


def watch(end):
    """Calls `end(reason, detail)`, which must not return, when a task attempts something that no task needs."""
    def hook(event, args):
        if (reason := _reason(event, args)) is not None:
            end(reason, f"{event} {str(args)[:100]}")

    sys.addaudithook(hook)
