# SPDX-License-Identifier: Apache-2.0
# An OpenAI-compatible endpoint: one prompt, one completion, with tries, limits of time and size, and a secret key.
import email.utils
import json
import time

import httpx

from asking import MOST_WAIT_S, TRIES, Failed, tried
from pipeline import GaveUp

_MOST_BYTES = 4 << 20  # of one answer


def _wait_named(response):
    """The seconds in Retry-After, which is a number or a date; None if it is neither."""
    value = response.headers.get("retry-after", "")
    try:
        return float(value) if value.isdigit() else email.utils.parsedate_to_datetime(value).timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return None


def _content(body):
    try:
        content = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        raise Failed("the answer is no chat completion") from None
    if not isinstance(content, str) or not content.strip():
        raise Failed("the completion is empty")
    return content


class Endpoint:
    """Sends one prompt at a time per thread, and tries again if that may help."""

    def __init__(self, url, model, key, seconds, sleep=time.sleep):
        headers = {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {key}"} if key else {})}
        self.url, self.model, self.seconds, self.sleep = url.rstrip("/") + "/chat/completions", model, seconds, sleep
        self.client = httpx.Client(headers=headers, timeout=seconds)

    @property
    def most_s(self):
        """The longest that `ask` takes, unless the endpoint sends its headers one by one."""
        return TRIES * (self.seconds + MOST_WAIT_S)

    def ask(self, prompt):
        """The completion. Raises GaveUp if no try can help, or Failed once all tries failed."""
        return tried(lambda: _content(self._posted(prompt)), self.sleep)

    def _posted(self, prompt):
        body = {"model": self.model, "messages": [{"role": "user", "content": prompt}]}
        try:
            with self.client.stream("POST", self.url, json=body) as response:
                self._check(response)
                return self._read(response)
        except httpx.InvalidURL:
            raise GaveUp(f"{self.url} is no address") from None
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise Failed(type(error).__name__) from None  # its text could contain what the endpoint chose

    def _check(self, response):
        status = response.status_code
        if status in (401, 403, 404):
            raise GaveUp(f"{self.url} answers with status {status}: check the address, the model and the key")
        if status != 200:
            raise Failed(f"status {status}", _wait_named(response))

    def _read(self, response):
        """The whole body. Pieces may arrive in time without end, so the whole body has a limit."""
        deadline, body = time.monotonic() + self.seconds, bytearray()
        for piece in response.iter_raw():
            body += piece
            if time.monotonic() > deadline:
                raise Failed(f"no end within {self.seconds:g} s")
            if len(body) > _MOST_BYTES:
                raise Failed(f"more than {_MOST_BYTES >> 20} MiB")
        return bytes(body)
