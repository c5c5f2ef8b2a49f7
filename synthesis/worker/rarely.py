# SPDX-License-Identifier: Apache-2.0
# Progress messages with a minimum interval.
import time


class Rarely:
    """Prints a text if the last one, or the start, is some seconds ago."""

    def __init__(self, say, every_s=30.0):
        self.say, self.every_s, self.said = say, every_s, time.monotonic()

    def __call__(self, text):
        if time.monotonic() - self.said >= self.every_s:
            self.said = time.monotonic()
            self.say(text)
