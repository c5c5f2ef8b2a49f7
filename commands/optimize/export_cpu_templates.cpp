// SPDX-License-Identifier: Apache-2.0
// What an exported package of contract `cpu` has of its own.
#include "commands/optimize/export_templates.hpp"

namespace warpsmith::commands {
namespace {

const char* const cpu_build = R"py(def _facts():
    return [_run([_compiler(), "-march=native", "-Q", "--help=target"])]


def _build(into, key):
    # The name of each library is its own: the loader takes a second library of one name for the first.
    kernel = into / f"lib@PACKAGE@_{key}.so"
    _run([_compiler(), *_flags["compile"], "-w", f"-I{_source / 'headers'}", f"-Wl,-soname,{kernel.name}",
          "-o", str(kernel), str(_source / "kernel.cpp"), *_flags["link"]])
    _build_op(into, [], [str(kernel)], ["-lc10", "-ltorch_cpu"])
)py";

const char* const cpu_includes = R"op(// SPDX-License-Identifier: Apache-2.0
// The op around the kernel: checks types and sizes, makes outputs, calls solve.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <torch/library.h>

#include <array>
#include <tuple>
#include <vector>

extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims);

)op";

const char* const cpu_call = R"op(
/// Room for an output, half a page away from the input: where both have one place of their pages, as torch puts large
/// tensors, stores hold up the loads behind them.
Tensor placed(const Extents& extents, at::ScalarType type, const Tensor& like) {
  constexpr uintptr_t page = 4096, line = 64;
  const auto bytes = c10::multiply_integers(extents) * static_cast<int64_t>(c10::elementSize(type));
  const Tensor whole = at::empty({bytes + static_cast<int64_t>(page)}, like.options().dtype(at::kByte));
  auto* const begin = static_cast<unsigned char*>(whole.mutable_data_ptr());
  const auto wanted = reinterpret_cast<uintptr_t>(like.const_data_ptr()) / line * line + page / 2;
  unsigned char* const place = begin + (wanted - reinterpret_cast<uintptr_t>(begin)) % page;
  return at::from_blob(place, extents, [whole](void*) {}, like.options().dtype(type));
}

void call(const void* const* in, void* const* out, const Shape& shape, const Tensor&) {
  solve(in, out, shape.dims.data());
}
)op";

const char* const cpu_room = "placed(shape.out[i], out_types[i], like)";

const char* const cpu_timing = R"py(def cache_bytes():
    """The size of the last-level cache."""
    sizes = [p.read_text().strip() for p in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    units = {"K": 1 << 10, "M": 1 << 20}
    return max([int(s[:-1]) * units[s[-1]] for s in sizes if s[-1:] in units], default=32 << 20)


def timer(shape):
    """A function that times so many calls of solve_out, in ms: one thread, more buffers than caches hold."""
    torch.set_num_threads(1)
    tensors, new = tensors_of(shape)
    held = sum(t.numel() * t.element_size() for t in tensors + new)
    copies = min(max(2, 2 * cache_bytes() // held + 1), max(2, (1 << 30) // held))
    given = [[t.clone() for t in tensors] for _ in range(copies)]
    turns = [ins + outputs(package.solve(*ins)) for ins in given]  # solve places its outputs well
    op = package.solve_out.default

    @torch.no_grad()
    def span():
        everything = turns.pop(0)
        turns.append(everything)
        begin = time.thread_time_ns()  # as the judge: without the time spent waiting for a core
        op(*everything)
        return (time.thread_time_ns() - begin) / 1e6

    return lambda calls: [span() for _ in range(calls)]


def time_shape(shape, rounds=5, calls=200):
    """The time of a call in ms, the median of the rounds' medians; the first calls of a round warm up."""
    spans = timer(shape)
    return statistics.median(statistics.median(spans(calls)[calls // 6:]) for _ in range(rounds))
)py";

const char* const cpu_needs =
    "The first import compiles it with the judge's flags (`-march=native`: for the machine that "
    "imports it), which needs\ng++ and the headers of torch.";

}  // namespace

const ExportTexts& cpu_export_texts() {
  static const ExportTexts texts{export_load_library, cpu_build, cpu_includes, cpu_call, cpu_room,
                                 cpu_timing,          cpu_needs};
  return texts;
}

}  // namespace warpsmith::commands
