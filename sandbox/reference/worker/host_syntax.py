# SPDX-License-Identifier: Apache-2.0
# Says which of a submission's Python files cannot be parsed; nothing of them runs. Exit code 1: standard error says
# why.
import json
import sys
import warnings


def why_not(name, text):
    """Empty where `text` can be parsed. As an import does, past the mark that some editors begin a file with."""
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
