# SPDX-License-Identifier: Apache-2.0
# Reads a task file: the kernel's buffers and the prompt that an agent sees.
import ast
import types
from dataclasses import dataclass
from pathlib import Path

import torch

DTYPE_NAMES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.bool: "bool",
}


@dataclass(frozen=True)
class Buffer:
    """One tensor of the signature, in the order that `solve` receives them."""

    place: str  # "in" or "out"
    name: str
    dtype: str
    shape: tuple

    def line(self, index):
        return f"{self.place}[{index}] {self.name} {self.dtype} {list(self.shape)}"


@dataclass(frozen=True)
class TaskFile:
    """A task: its id, its class, the statements of forward, and its signature."""

    id: str
    path: Path
    class_text: str  # source of class Model, no trailing newline
    statements: tuple  # forward's body without its return, one string per statement
    inputs: tuple  # inputs, then parameters
    outputs: tuple
    input_names: tuple  # forward's arguments
    returned: tuple = ("x",)  # names of what forward returns
    sizes: tuple = ()  # (name, extent): module constants with other values than the file's

    @property
    def dims(self):
        """The extents of every buffer in order, as `solve` gets them."""
        return tuple(d for buffer in self.inputs + self.outputs for d in buffer.shape)

    @property
    def extents(self):
        """The distinct ones, in order of first appearance."""
        return tuple(dict.fromkeys(self.dims))

    def reference_text(self):
        """reference.py as in the workspace: the imports and the class."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        imports = [line for line in lines if line.startswith(("import ", "from "))]
        return "\n".join([*imports, "", "", self.class_text]) + "\n"

    def prompt(self, dims=None):
        """The brief prompt: the class, one line per buffer, `dims` (by default those of `solve`), no newline."""
        lines = [self.class_text]
        lines += [b.line(i) for i, b in enumerate(self.inputs)]
        lines += [b.line(i) for i, b in enumerate(self.outputs)]
        lines.append("dims " + " ".join(str(d) for d in dims or self.dims))
        return "\n".join(lines)


def load_module(path):
    """Runs the task file and returns its module; an import would write a __pycache__ there."""
    module = types.ModuleType(path.stem)
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), module.__dict__)
    return module


def model_class(tree, path):
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            return node
    raise ValueError(f"{path}: no class Model")


def check_alone(tree, cls, path):
    """The prompt of demonstrations shows only the class, so the class must need nothing else of the file."""
    definitions = (ast.ClassDef, ast.FunctionDef)
    own = {node.name for node in tree.body if isinstance(node, definitions)} - {cls.name}
    for node in tree.body:
        if not isinstance(node, definitions):
            own |= {t.id for t in ast.walk(node) if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)}
    for node in ast.walk(cls):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in own:
            raise ValueError(f"{path}:{node.lineno}: class Model uses {node.id}; demonstrations show the class alone")


def forward_body(cls, path):
    for node in cls.body:
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            body = node.body
            if not isinstance(body[-1], ast.Return):
                raise ValueError(f"{path}:{body[-1].lineno}: forward must end with a return")
            return body
    raise ValueError(f"{path}: class Model has no forward")


def returned_names(statement):
    """The names that it returns; empty if it returns something else."""
    value = statement.value
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return tuple(p.id for p in parts) if all(isinstance(p, ast.Name) for p in parts) else ()


def input_names(cls):
    forward = next(n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "forward")
    return [a.arg for a in forward.args.args[1:]]


def buffer_of(place, name, tensor):
    return Buffer(place, name, DTYPE_NAMES[tensor.dtype], tuple(tensor.shape))


def signature(module, names):
    """(inputs and parameters, outputs), from one call of the model on the device meta."""
    with torch.device("meta"), torch.no_grad():
        model = module.Model(*module.get_init_inputs())
        inputs = module.get_inputs()
        output = model(*inputs)
    given = [buffer_of("in", n, t) for n, t in zip(names, inputs, strict=True)]
    given += [buffer_of("in", n, p) for n, p in model.named_parameters()]
    if not isinstance(output, tuple):
        return tuple(given), (buffer_of("out", "y", output),)
    return tuple(given), tuple(buffer_of("out", f"y{i}", t) for i, t in enumerate(output))


def read_task(path):
    """The task in the file. Raises ValueError with file and line if it is not a task of this kind."""
    path = Path(path)
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    cls = model_class(tree, path)
    check_alone(tree, cls, path)
    lines = text.splitlines()
    inputs, outputs = signature(load_module(path), input_names(cls))
    body = forward_body(cls, path)
    return TaskFile(
        id=path.stem,
        path=path,
        class_text="\n".join(lines[cls.lineno - 1 : cls.end_lineno]),
        statements=tuple(ast.get_source_segment(text, s) for s in body[:-1]),
        returned=returned_names(body[-1]),
        inputs=inputs,
        outputs=outputs,
        input_names=tuple(input_names(cls)),
    )


def module_of(class_text, task, names):
    """The task's module with another class, whose forward takes the named inputs."""
    module = load_module(task.path)
    module.__dict__.update(task.sizes)
    module.__dict__.setdefault("F", torch.nn.functional)  # other tasks' statements may need it
    exec(compile(class_text, f"{task.id} (variant)", "exec"), module.__dict__)
    draw = module.get_inputs
    module.get_inputs = lambda: [t for n, t in zip(task.input_names, draw(), strict=True) if n in names]
    if "__init__" not in class_text:
        module.get_init_inputs = list
    return module


def model_output(class_text, task, names):
    """The output of another class text for the task's named inputs."""
    module = module_of(class_text, task, names)
    with torch.device("meta"), torch.no_grad():
        return module.Model(*module.get_init_inputs())(*module.get_inputs())


def read_folder(folder):
    return [read_task(p) for p in sorted(Path(folder).glob("*.py"))]
