# SPDX-License-Identifier: Apache-2.0
# Why a task cannot be judged.
import contextlib

import torch


class Refused(Exception):
    """The task is unfit; the text says where and why."""


class DoesNotFit(Refused):
    """The device's memory does not suffice now; the text says how much was asked for."""


def words_of(error, most=200):
    """The first line of its text. A task's error may itself raise when asked for it."""
    try:
        return str(error).strip().split("\n")[0][:most]
    except BaseException:
        return "its text cannot be had"


@contextlib.contextmanager
def place(where):
    """What a task raises inside becomes a refusal that names `where`."""
    try:
        yield
    except Refused:
        raise
    except torch.AcceleratorError:
        raise  # it stays with the process: an earlier task may have caused it
    except torch.OutOfMemoryError as error:
        raise DoesNotFit(f"{where}: {words_of(error)}") from None
    except BaseException as error:  # a task may raise anything, SystemExit too
        raise Refused(f"{where} raised {type(error).__name__}: {words_of(error)}") from None
