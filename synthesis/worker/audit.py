# SPDX-License-Identifier: Apache-2.0
# Names what a task attempts, before the kernel refuses it. A task that bypasses Python is refused as well.
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
_AT = ("os.remove", "os.rmdir", "os.mkdir")  # their last argument is the descriptor of a folder, or -1
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


def _within(path, folder):
    """Paths are not resolved: the kernel decides what a link may reach."""
    if isinstance(path, int):
        return True  # a descriptor that is already open
    return bool(folder) and os.path.abspath(os.fsdecode(path)).startswith(folder + "/")


def _reason(event, args, folder):
    if event.startswith("socket.") and event != "socket.gethostname":
        return "network"
    if event == "os.mkdir" and os.path.isdir(args[0]):
        return None  # changes nothing; torch's compiler does so
    if folder and event in _AT and args[-1] >= 0:
        return None  # relative to an open folder: the kernel decides whether that may be changed
    if event == "open" and not (isinstance(args[2], int) and args[2] & _WRITING and args[0] != os.devnull):
        return None
    if event == "open" and folder and args[0] == folder:
        return None  # `tempfile` names the folder, and opens a file in it
    reason = "writes_files" if event == "open" else _EVENTS.get(event)
    return None if reason == "writes_files" and _within(args[0], folder) else reason


def watch(end, folder="", compiler=False):
    """Calls `end(reason, detail)`, which must not return, when a task attempts something that no task needs.

    `folder`: where it may write. `compiler`: whether torch's compiler may start programs.
    """
    def hook(event, args):
        reason = _reason(event, args, folder)
        if reason is not None and not (compiler and reason == "forks" and _from_compiler()):
            end(reason, f"{event} {str(args)[:100]}")

    def _from_compiler():
        frame = sys._getframe(2)
        while frame is not None:
            if frame.f_globals.get("__name__", "").startswith(("torch._inductor.", "triton.")):
                return True
            frame = frame.f_back
        return False

    sys.addaudithook(hook)
