# SPDX-License-Identifier: Apache-2.0
# Writes a kernel over rows: passes over a row's elements, with a reduction after each.
import re
from dataclasses import dataclass

from . import combine
from .parts import Each, Reduce, RowValue, Scan, steps_of

TYPES = {"f32": "float", "f16": "__half", "bf16": "__nv_bfloat16", "i64": "long long", "bool": "bool"}
HEADERS = {"f16": "#include <cuda_fp16.h>\n", "bf16": "#include <cuda_bf16.h>\n"}

PACK = """\
template <class T>
struct alignas(sizeof(T) * width) Pack {
  T of[width];
};

template <class T>
__device__ Pack<T> load(const T* from) {
  return *reinterpret_cast<const Pack<T>*>(from);
}

template <class T>
__device__ void store(T* to, const Pack<T>& pack) {
  *reinterpret_cast<Pack<T>*>(to) = pack;
}
"""


@dataclass(frozen=True)
class Pass:
    """One pass over a row: C++ for each element, then the result: a Reduce, a Scan, or None in the last pass."""

    each: tuple
    result: object = None
    values: tuple = ()  # RowValues known after it


def passes_of(steps):
    passes, each = [], []
    for step in steps:
        if isinstance(step, Each):
            each.append(step.text)
        elif isinstance(step, RowValue):
            last = passes.pop()
            if each:
                raise ValueError("a value of the row comes after its sum, not after a change of its elements")
            passes.append(Pass(last.each, last.result, (*last.values, step)))
        else:
            passes.append(Pass(tuple(each), step))
            each = []
    return [*passes, Pass(tuple(each))]


class RowKernel:
    """One task in one style. Raises ValueError if the task is not over rows."""

    def __init__(self, task, style):
        self.task, self.style = task, style
        self.x = task.inputs[0]
        if len(self.x.shape) != 2:
            raise ValueError(f"{task.id}: the first input has no rows")
        self.columns = self.x.shape[1]
        self.passes = passes_of([step for s in task.statements for step in steps_of(s)])
        self.by_row = [len(o.shape) == 1 or o.shape[1] == 1 for o in task.outputs]
        self.scans = any(isinstance(p.result, Scan) for p in self.passes)

    # The text of the kernel.

    def text(self):
        kinds = sorted({p.result.operation for p in self.passes if isinstance(p.result, Reduce)})
        dtypes = {b.dtype for b in self.task.inputs + self.task.outputs}
        parts = [self.head(), "".join(HEADERS[d] for d in sorted(dtypes & set(HEADERS)))]
        if kinds or self.scans:
            parts.append(combine.includes(self.style, self.scans))
        parts += [self.constants(), PACK]
        parts += ["\n".join(combine.OPERATIONS[k] for k in kinds)]
        parts += [combine.reduction(self.style)] if kinds else []
        parts += [combine.scan(self.style)] if self.scans else []
        return "\n".join(p for p in [*parts, self.kernel()] if p)

    def head(self):
        said = "; ".join(self.task.statements)
        return f"// SPDX-License-Identifier: Apache-2.0\n// {said}\n// {self.plan_line()}\n"

    def plan_line(self):
        s = self.style
        line = f"{s.threads} threads for each of {s.rows} rows, {s.width} elements a load"
        if len(self.passes) == 1:
            return line
        kept = {"registers": "kept in registers", "shared": "kept in shared memory", "reread": "read in each pass"}
        made = {"shuffle": "shuffles", "tree": "a tree in shared memory", "group": "cooperative groups"}
        return f"{line}, {kept[s.keep]}, summed by {made[s.combine]}"

    def constants(self):
        s = self.style
        return (
            f"constexpr int columns = {self.columns}, threads = {s.threads}, rows = {s.rows}, width = {s.width};\n"
            f"constexpr int chunks = (columns + threads * width - 1) / (threads * width);\n"
        )

    def kernel(self):
        buffers = [f"const {TYPES[b.dtype]}* __restrict__ {b.name}" for b in self.task.inputs]
        buffers += [f"{TYPES[b.dtype]}* __restrict__ {b.name}" for b in self.task.outputs]
        lines = [
            'extern "C" __global__ void __launch_bounds__(threads * rows)',
            f"    row_kernel({', '.join(buffers)}, int row_count) {{",
            # Surplus threads of the last block repeat its last row, so that all reach every barrier.
            "  const int row = min(static_cast<int>(blockIdx.x) * rows +"
            " static_cast<int>(threadIdx.y), row_count - 1);",
            "  const long long at = static_cast<long long>(row) * columns;",
        ]
        lines += {
            "registers": ["  float kept[chunks * width];"],
            "shared": ["  extern __shared__ float all_kept[];", "  float* kept = all_kept + threadIdx.y * columns;"],
            "reread": [],
        }[self.keep()]
        for number in range(1 if self.scans else len(self.passes)):
            lines += self.pass_lines(number)
        return "\n".join([*lines, *self.row_stores(), "}"]) + "\n"

    def keep(self):
        return self.style.keep if len(self.passes) > 1 else "reread"

    def place(self):
        return "kept[k * width + j]" if self.keep() == "registers" else "kept[c + j]"

    def pass_lines(self, number):
        result = self.passes[number].result
        if isinstance(result, Scan):
            return self.scan_lines(number)
        last = number + 1 == len(self.passes)
        if last and all(self.by_row):
            return []
        lines = []
        if result:
            lines.append(f"  float part_of_{result.name} = {result.operation}::start;")
        body = ["    if (c >= columns) continue;"] if self.is_ragged() else []
        body += [f"    Pack<{TYPES[self.out().dtype]}> out;"] if last else []
        body += self.element_lines(number, self.finish(number))
        body += [f"    store({self.out().name} + at + c, out);"] if last else []
        return [*lines, *self.loop(body), *self.value_lines(number)]

    def loop(self, body):
        """The loop over a row's chunks; `c` is this thread's first element."""
        unroll = "#pragma unroll" if self.keep() == "registers" else "#pragma unroll 4"
        index = "    const int c = (k * threads + static_cast<int>(threadIdx.x)) * width;"
        needed = any(re.search(r"\bc\b", line) for line in body)
        return [unroll, "  for (int k = 0; k < chunks; ++k) {", *([index] if needed else []), *body, "  }"]

    def is_ragged(self):
        return self.columns % (self.style.threads * self.style.width) != 0

    def out(self):
        return next(o for o, by_row in zip(self.task.outputs, self.by_row, strict=True) if not by_row)

    def finish(self, number):
        """C++ that stores or reduces an element at the end of a pass."""
        result = self.passes[number].result
        if result is None:
            return [f"out.of[j] = static_cast<{TYPES[self.out().dtype]}>(e);"]
        kept = [f"{self.place()} = e;"] if self.keep() != "reread" else []
        part = f"part_of_{result.name}"
        return [*kept, f"{part} = {result.operation}{{}}({part}, {result.text});"]

    def element_lines(self, number, finish):
        """C++ that loads a chunk, and the loop over its elements."""
        reread = self.keep() == "reread" or number == 0
        first = 0 if self.keep() == "reread" else number
        texts = [t for p in self.passes[first : number + 1] for t in p.each]
        operands = list(dict.fromkeys(n for t in texts for n in re.findall(r"{(\w+)}", t)))
        loads = [self.x.name] * reread + operands
        lines = [f"    const auto {n}_pack = load({self.address(n)});" for n in loads]
        start = f"static_cast<float>({self.x.name}_pack.of[j])" if reread else self.place()
        lines += ["#pragma unroll", "    for (int j = 0; j < width; ++j) {", f"      float e = {start};"]
        lines += [f"      {self.with_operands(t)}" for t in texts] + [f"      {f}" for f in finish]
        return [*lines, "    }"]

    def address(self, name):
        buffer = next(b for b in self.task.inputs if b.name == name)
        if buffer.shape == (self.columns,):
            return f"{name} + c"
        if buffer.shape == self.x.shape:
            return f"{name} + at + c"
        raise ValueError(f"{self.task.id}: {name} is neither a row nor as large as {self.x.name}")

    @staticmethod
    def with_operands(text):
        value = r"static_cast<float>(\1_pack.of[j])"
        return re.sub(r"{(\w+)}", value, text)

    def value_lines(self, number):
        step = self.passes[number]
        if step.result is None:
            return []
        name = step.result.name
        lines = [f"  const float {name} = of_row(part_of_{name}, {step.result.operation}{{}});"]
        return lines + [f"  const float {v.name} = {v.text};" for v in step.values]

    def scan_lines(self, number):
        """C++ of a scan. Only elementwise steps may precede it, and nothing follows: its sums are stored at once."""
        if number != 0 or len(self.passes) != 2 or self.passes[1].each:
            raise ValueError(f"{self.task.id}: a running sum beside other sums, or something after it")
        reread = self.keep() == "reread"
        copy = f"      for (int j = 0; j < width; ++j) sums[j] = {self.place()};"
        out = TYPES[self.out().dtype]
        loads = ["    if (c >= columns) continue;"] if self.is_ragged() else []
        loads += self.element_lines(0, [f"{self.place()} = e;"])
        body = [
            "    float sums[width] = {};",
            "    if (c < columns) {",
            *(self.element_lines(0, ["sums[j] = e;"]) if reread else [copy]),
            "    }",
            "    for (int j = 1; j < width; ++j) sums[j] += sums[j - 1];",
            "    float whole = 0;",
            "    const float before = before_chunk + before_in_row(sums[width - 1], whole);",
            "    before_chunk += whole;",
            "    if (c >= columns) continue;",
            f"    Pack<{out}> out;",
            f"    for (int j = 0; j < width; ++j) out.of[j] = static_cast<{out}>(sums[j] + before);",
            f"    store({self.out().name} + at + c, out);",
        ]
        return [*([] if reread else self.loop(loads)), "  float before_chunk = 0;", *self.loop(body)]

    def row_stores(self):
        lines = []
        for output, by_row, name in zip(self.task.outputs, self.by_row, self.task.returned, strict=True):
            if by_row:
                store = f"{output.name}[row] = static_cast<{TYPES[output.dtype]}>({name}_of_row);"
                lines.append(f"  if (threadIdx.x == 0) {store}")
        return lines

    # The launch plan.

    def plan(self):
        s = self.style
        names = [b.name for b in self.task.inputs + self.task.outputs]
        lines = [
            "# SPDX-License-Identifier: Apache-2.0",
            "[[step]]",
            'launch = "row_kernel"',
            f'grid = ["ceildiv(d0, {s.rows})"]',
            f"block = [{s.threads}, {s.rows}]",
        ]
        if self.keep() == "shared":
            lines.append(f'shared = "4 * d1 * {s.rows}"')
        return "\n".join([*lines, f"args = [{', '.join(f'{n!r}' for n in [*names, 'd0'])}]".replace("'", '"')]) + "\n"
