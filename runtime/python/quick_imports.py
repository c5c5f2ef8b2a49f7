# SPDX-License-Identifier: Apache-2.0
# Makes the start of a worker faster. Importing torch makes millions of objects, and Python's garbage collector goes
# through all of them again and again: a third of the import's time. Import this module before torch, which turns the
# collector off, and call `done` after the last import.
import gc

gc.disable()


def done():
    """Turns the collector on. It leaves out what exists by now."""
    gc.freeze()
    gc.enable()
