# SPDX-License-Identifier: Apache-2.0
"""Runs a model folder's chat template on known conversations: render_chat_template.py FOLDER

Prints a JSON object: a text for each conversation, and under "errors" why others cannot be rendered; {} if the folder
has no template. Templates run as in `transformers`: Jinja in its sandbox, the special tokens as variables, no date.
"""
import json
import sys
from pathlib import Path

import jinja2
import jinja2.ext
import jinja2.sandbox

# Contents that no template contains; policy/text/chat_format.cpp and tool_call_grammar.cpp look for them.
SYSTEM = {"role": "system", "content": "SystemContent7"}
USER = {"role": "user", "content": "UserContent7"}
TURN = {"role": "assistant", "content": "TurnContent7"}
NEXT = {"role": "user", "content": "NextContent7"}
RESULT = {"role": "tool", "content": "NextContent7"}
CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "call00001", "type": "function", "function": {"name": "CallName7", "arguments": {"key": "CallValue7"}}}]}
CONVERSATIONS = {
    "closed": ([SYSTEM, USER], False),
    "open": ([SYSTEM, USER], True),
    "no_system": ([USER], True),
    "turn": ([SYSTEM, USER, TURN, NEXT], True),
    "results": ([SYSTEM, USER, TURN, RESULT], True),
    "call": ([SYSTEM, USER, CALL], False),
}


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def template_of(folder, config):
    """The text of the template, or None. If there are several, the one named "default"."""
    file = folder / "chat_template.jinja"
    if file.exists():
        return file.read_text(encoding="utf-8")
    template = config.get("chat_template")
    if isinstance(template, list):
        return {entry["name"]: entry["template"] for entry in template}.get("default")
    return template


def special_tokens(*configs):
    tokens = {}
    for config in configs:
        for name, value in config.items():
            if name.endswith("_token"):
                tokens[name] = value.get("content") if isinstance(value, dict) else value
    return {name: value for name, value in tokens.items() if isinstance(value, str)}


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(value, **options):
    return json.dumps(value, ensure_ascii=False, **options)


def compiled(template):
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = raise_exception
    return environment.from_string(template)


def renderings(template, tokens):
    texts, errors = {}, {}
    for name, (messages, opens) in CONVERSATIONS.items():
        try:
            texts[name] = compiled(template).render(
                messages=messages, tools=None, documents=None, add_generation_prompt=opens, **tokens)
        except Exception as error:  # a template may fail in any way
            errors[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'}"
    return {**texts, "errors": errors}


def main(folder):
    config = read_json(folder / "tokenizer_config.json")
    template = template_of(folder, config)
    tokens = special_tokens(read_json(folder / "special_tokens_map.json"), config)
    print(json.dumps(renderings(template, tokens) if template else {}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
