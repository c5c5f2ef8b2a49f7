# SPDX-License-Identifier: Apache-2.0
# The names of tasks.
import re


def task_id(row):
    """Readable, and distinct because hashes are distinct."""
    words = [re.sub(r"[^a-z0-9]+", "_", op.rsplit(".", 1)[-1].lower()).strip("_") for op in row["ops"][:5]]
    return "_".join([word for word in words if word])[:100] + "_" + row["hash"][:12]
