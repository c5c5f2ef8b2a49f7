# SPDX-License-Identifier: Apache-2.0
# The reasons why a task cannot be judged.
import contextlib

import torch


class Refused(Exception):
    """The task is unfit; the text says where and why."""


class DoesNotFit(Refused):
    """The device's memory is not sufficient now; the text says how much was requested."""


def words_of(error, most=200):
    """The first line of the error's text. A task's error may raise when converted to text."""
    try:
        return str(error).strip().split("\n")[0][:most]
    except BaseException:
        return "its text is not available"


def _line_of(error):
    """The task's own line in the traceback, if there is one."""
    found = ""
    at = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if code.co_filename.startswith("/task_") and code.co_filename.endswith("/task.py"):  # program.read names it
            found = f" (task.py, line {at.tb_lineno}, in {code.co_name})"
        at = at.tb_next
    return found


@contextlib.contextmanager
def place(where):
    """Turns an error raised by a task into a refusal that names `where`."""
    try:
        yield
    except Refused:
        raise
    except torch.AcceleratorError:
        raise  # a fault of the process, which an earlier task may have caused
    except torch.OutOfMemoryError as error:
        raise DoesNotFit(f"{where}: {words_of(error)}") from None
    except BaseException as error:  # a task may raise anything, even SystemExit
        raise Refused(f"{where} raised {type(error).__name__}: {words_of(error)}{_line_of(error)}") from None
