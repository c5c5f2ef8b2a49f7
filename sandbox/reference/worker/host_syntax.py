# SPDX-License-Identifier: Apache-2.0
# Finds the Python files of a submission that cannot be parsed, without running them. With exit code 1, standard error
# has the reason.
import json
import sys
import warnings


def why_not(name, text):
    """The syntax error in `text`; empty if there is none. Ignores a byte order mark, as an import does."""
    try:
        compile(text.removeprefix("\ufeff"), name, "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"{type(error).__name__}: {error.msg} ({name}, line {error.lineno})"
    except (RecursionError, MemoryError, OverflowError, ValueError) as error:
        return f"{type(error).__name__}: {error} ({name})"
    return ""


def main():
    warnings.simplefilter("ignore")
    with open("/modules.json", encoding="utf-8") as file:
        modules = json.load(file)
    reasons = [why_not(name, text) for name, text in modules.items() if name.endswith(".py")]
    sys.exit("\n".join(filter(None, reasons)) or 0)


if __name__ == "__main__":
    main()
