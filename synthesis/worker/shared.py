# SPDX-License-Identifier: Apache-2.0
# Import it before the modules that this worker shares with the sandbox's: it puts their folder on the path.
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "runtime/python"))
