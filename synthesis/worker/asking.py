# SPDX-License-Identifier: Apache-2.0
# The common part of all language models that compose: a question that fails is asked again after growing waits.
import random
import time

TRIES, MOST_WAIT_S = 4, 60.0
_FIRST_WAIT_S = 1.0


class Failed(Exception):
    """No answer; another try may succeed, after `wait_s` if the model's side names a time."""

    def __init__(self, text, wait_s=None):
        super().__init__(text)
        self.wait_s = wait_s


def tried(ask, sleep=time.sleep):
    """What `ask()` returns. Tries again if it raises Failed; raises the last try's Failed."""
    for number in range(TRIES):
        try:
            return ask()
        except Failed as error:
            if number + 1 == TRIES:
                raise
            usual_s = _FIRST_WAIT_S * 2 ** number * random.uniform(0.5, 1.5)
            sleep(min(usual_s if error.wait_s is None else max(error.wait_s, 0.0), MOST_WAIT_S))
