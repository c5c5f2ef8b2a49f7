// SPDX-License-Identifier: Apache-2.0
// What an exported package of contract `device` has of its own.
#include <string>

#include "commands/optimize/export_templates.hpp"

namespace warpsmith::commands {
namespace {

const char* const device_build = R"py(def _toolkits():
    """What may hold CUDA's headers and NVRTC: the toolkit, then the packages that came with torch."""
    if cpp_extension.CUDA_HOME:
        yield pathlib.Path(cpp_extension.CUDA_HOME)
    yield from sorted((pathlib.Path(torch.__file__).parent.parent / "nvidia").glob("*"))


def _toolkit():
    """The folder of NVRTC, and those of the headers."""
    for root in _toolkits():
        libraries = [root / name for name in ("lib64", "lib", "targets/x86_64-linux/lib")]
        headers = [root / name for name in ("include", "targets/x86_64-linux/include")]
        library = next((path for path in libraries if any(path.glob("libnvrtc.so*"))), None)
        header = next((path for path in headers if (path / "cuda_fp16.h").exists()), None)
        if library and header:
            return library, [path for path in (header, header / "cccl") if path.exists()]
    raise RuntimeError("@PACKAGE@: no NVRTC with headers, neither in CUDA_HOME nor beside torch")


def _by_nvrtc(folder, options):
    for builtins in folder.glob("libnvrtc-builtins.so*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(str(min(folder.glob("libnvrtc.so*"))))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    text = (_source / "kernels.cu").read_bytes()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"kernels.cu", 0, None, None) != 0:
        raise RuntimeError("@PACKAGE@: NVRTC does not start")
    words = [option.encode() for option in options]
    failed = nvrtc.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
    what = ("nvrtcGetProgramLogSize", "nvrtcGetProgramLog") if failed else ("nvrtcGetCUBINSize", "nvrtcGetCUBIN")
    getattr(nvrtc, what[0])(program, ctypes.byref(size))
    held = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, what[1])(program, held)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    if failed:
        raise RuntimeError(held.value.decode(errors="replace")[:4000])
    return held.raw


def _by_nvcc(options):
    if not cpp_extension.CUDA_HOME:
        raise RuntimeError("no CUDA_HOME with nvcc")
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch) / "kernels.cubin"
        _run([f"{cpp_extension.CUDA_HOME}/bin/nvcc", "-cubin", "-O3", "-w", *options, "-o", str(made),
              str(_source / "kernels.cu")])
        return made.read_bytes()


def _cubin():
    """The kernels, compiled as the judge does: by NVRTC, with the names that nvcc knows, by nvcc."""
    folder, headers = _toolkit()
    own, more = [f"-I{_source}"], [f"-I{path}" for path in headers]
    plain = [f"--gpu-architecture=sm_{_architecture()}", *_flags["compile"]]
    ways = [lambda: _by_nvrtc(folder, [*plain, *own, *more]),
            lambda: _by_nvrtc(folder, [*plain, *_flags["second"], *own, f"-I{_source / 'headers'}", *more]),
            lambda: _by_nvcc([*plain, *own, *more])]
    messages = []
    for way in ways:
        try:
            return way()
        except RuntimeError as error:
            messages.append(str(error))
    raise RuntimeError("@PACKAGE@: kernels.cu does not compile:\n" + "\n".join(messages))


def _variables(cubin):
    """The names of variables that kernels may write. Each call begins with their initial values, as at the judge."""
    first, = struct.unpack_from("<Q", cubin, 0x28)
    entry, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, first + i * entry) for i in range(count)]

    def text(section, at):
        begin = sections[section][4] + at
        return cubin[begin:cubin.index(b"\0", begin)].decode()

    held = {i for i, s in enumerate(sections) if text(names, s[0]).startswith(".nv.global")}
    symbols = [(s[6], struct.unpack_from("<IBBHQQ", cubin, s[4] + at))
               for s in sections if s[1] == 2 for at in range(0, s[5], 24)]
    return [text(table, symbol[0]) for table, symbol in symbols if symbol[1] & 15 == 1 and symbol[3] in held]


def _facts():
    return [_architecture(), str(_toolkit()[0])]


def _build(into, key):
    cubin = _cubin() if _flags["kernels"] else b""
    (into / "kernels.cubin").write_bytes(cubin)
    names = _variables(cubin) if cubin else []
    (into / "kernels.h").write_text(f'#define KERNELS_CUBIN "{into}/kernels.cubin"\n#define KERNELS_VARIABLES '
                                    + ", ".join(f'"{name}"' for name in names) + "\n")
    _build_op(into, [into, *_toolkit()[1]], ["-ldl"], ["-lc10", "-ltorch_cpu", "-lc10_cuda", "-ltorch_cuda"])
)py";

const char* const device_room = "at::empty(shape.out[i], like.options().dtype(out_types[i]))";

const char* const device_timing = R"py(@torch.no_grad()
def time_shape(shape, rounds=5, calls=60):
    """The time of solve_out in ms as the judge takes it: one CUDA graph between two events, with cold caches, less that
    of an empty graph; the median of the rounds' medians."""
    tensors, new = tensors_of(shape)
    package.solve_out(*tensors, *new)  # loads the kernels, which a graph cannot hold
    torch.cuda.synchronize()
    full, empty = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(full):
        package.solve_out(*tensors, *new)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.cuda.graph(empty):
            pass
    # The sweep also keeps the GPU busy until all that follows is queued.
    cache = torch.cuda.get_device_properties(tensors[0].device).L2_cache_size
    sweep = torch.empty(max(4 * cache, 1 << 28), dtype=torch.uint8, device=DEVICE)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def span(graph, turn):
        sweep.fill_(turn % 256)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    medians = []
    for _ in range(rounds):
        spans = [(span(full, turn), span(empty, turn)) for turn in range(calls)][calls // 6:]
        medians.append(statistics.median(s[0] for s in spans) - statistics.median(s[1] for s in spans))
    return statistics.median(medians)
)py";

const char* const device_needs =
    "The first import compiles the kernels with the judge's flags for the GPU that imports it. "
    "That needs g++, the headers of\ntorch, and NVRTC with CUDA's headers: of CUDA_HOME, or of the "
    "packages that torch brings. To build without a GPU, set\nTORCH_CUDA_ARCH_LIST and run "
    "`python -m @PACKAGE@.build`. It runs on torch's current stream and can be captured in a\nCUDA "
    "graph after one call outside. `__device__` variables get their initial values at each call, "
    "whose time the judge\ndoes not count.";

}  // namespace

const ExportTexts& device_export_texts() {
  static const std::string build = std::string(export_architecture) + device_build;
  static const ExportTexts texts{export_load_library, build.c_str(), export_device_includes,
                                 export_device_call,  device_room,   device_timing,
                                 device_needs};
  return texts;
}

}  // namespace warpsmith::commands
