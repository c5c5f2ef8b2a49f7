# SPDX-License-Identifier: Apache-2.0
# One planted defect of each class, end to end. `planted.py` plants hundreds in the tasks of a finished run.
import unittest

from support import Case

import planted  # noqa: E402
import seeds as tables  # noqa: E402
from compose import Rules  # noqa: E402


class PlantedTest(Case):
    def bases(self):
        rules = Rules(tables.from_json((self.folder / tables.file_name()).read_text()), 11, shares={"2": 1})
        for index in range(100):
            candidate = rules.candidate(index)
            yield {"code": candidate.code, "ops": candidate.ops}

    def test_each_is_rejected_with_the_right_reason(self):
        rows = planted.plant(self.bases(), per_class=1)
        self.assertEqual([row["class"] for row in rows], list(planted.PLANTS))
        for row in planted.judge(rows, self.folder / "judged", cache=self.folder):
            self.assertEqual(row["found"], row["reason"], f"{row['detail']}\n{row['row']['code']}")


if __name__ == "__main__":
    unittest.main()
