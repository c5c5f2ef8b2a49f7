// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/cubin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sandbox/compile/elf_image.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr uint16_t cuda_machine = 190;  // EM_CUDA
constexpr size_t most_sections = 4096, most_symbols = 100'000, most_parameters = 1024;
constexpr uint32_t largest_parameters = 32U << 10U;  // bytes of one launch

/// The attributes of .nv.info that are read.
enum class Attribute : uint8_t {
  max_threads = 0x05,
  frame_size = 0x11,
  kernel_parameter = 0x17,
  register_count = 0x2f
};
constexpr uint8_t sized_entry = 4;  // other entries hold their value in place of the length

struct Section {
  std::string name;
  Elf64_Shdr header{};
};

tl::unexpected<Error> broken_cubin(const std::string& what) {
  return fail(ErrorCode::parse_failed, "cubin: " + what);
}

class CubinReader {
 public:
  explicit CubinReader(std::string_view elf) : image_(elf) {}

  Result<CubinFacts> read() {
    for (const auto step : {&CubinReader::header, &CubinReader::sections, &CubinReader::symbols,
                            &CubinReader::attributes}) {
      TRY_VOID((this->*step)());
    }
    for (const Section& section : sections_) measure(section);
    return std::move(facts_);
  }

 private:
  Result<void> header() {
    const auto found = image_.at<Elf64_Ehdr>(0);
    if (!found || std::memcmp(found->e_ident, ELFMAG, SELFMAG) != 0) {
      return broken_cubin("not an ELF file");
    }
    header_ = *found;
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != cuda_machine) {
      return broken_cubin("not 64-bit CUDA code");
    }
    if (header_.e_type != ET_EXEC) return broken_cubin("not linked: its type is not executable");
    if (header_.e_shnum == 0 || header_.e_shnum > most_sections) {
      return broken_cubin(fmt::format("{} sections", header_.e_shnum));
    }
    facts_.architecture = (header_.e_flags >> 8U) & 0xffU;
    return {};
  }

  Result<void> sections() {
    for (uint64_t i = 0; i < header_.e_shnum; ++i) {
      const auto found = image_.at<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr));
      if (!found) return broken_cubin(fmt::format("section header {} lies outside", i));
      sections_.push_back({{}, *found});
    }
    if (header_.e_shstrndx >= sections_.size()) return broken_cubin("the sections have no names");
    const uint64_t names = sections_[header_.e_shstrndx].header.sh_offset;
    for (Section& section : sections_)
      section.name = image_.text_at(names + section.header.sh_name);
    return {};
  }

  Result<void> symbols() {
    const auto table = std::ranges::find(sections_, ".symtab", &Section::name);
    if (table == sections_.end()) return broken_cubin("no symbols");
    const Elf64_Shdr& at = table->header;
    const uint64_t count = at.sh_size / sizeof(Elf64_Sym);
    if (count > most_symbols || at.sh_link >= sections_.size())
      return broken_cubin("too many symbols");
    const uint64_t names = sections_[at.sh_link].header.sh_offset;
    for (uint64_t i = 0; i < count; ++i) {
      const auto symbol = image_.at<Elf64_Sym>(at.sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol) return broken_cubin(fmt::format("symbol {} lies outside", i));
      names_.push_back(image_.text_at(names + symbol->st_name));
      if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx == SHN_UNDEF) {
        facts_.missing.push_back(names_.back());
      }
      if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && is_variable(symbol->st_shndx)) {
        facts_.variables.push_back(names_.back());
      }
    }
    return {};
  }

  /// Constant memory counts too: device code that has its address can write it.
  bool is_variable(uint16_t section) const {
    static constexpr std::array names{".nv.global", ".nv.global.init", ".nv.constant3"};
    return section < sections_.size() && std::ranges::count(names, sections_[section].name) > 0;
  }

  /// A kernel's shared memory is a section named after the kernel.
  void measure(const Section& section) {
    constexpr std::string_view prefix = ".nv.shared.";
    const auto kernel = section.name.starts_with(prefix)
                            ? facts_.kernels.find(section.name.substr(prefix.size()))
                            : facts_.kernels.end();
    if (kernel != facts_.kernels.end()) {
      const uint64_t all = section.header.sh_size;
      const uint64_t systems = facts_.architecture < 90 ? 0 : reserved_shared_bytes;
      kernel->second.shared_bytes =
          static_cast<uint32_t>(std::min<uint64_t>(all - std::min(all, systems), UINT32_MAX));
    }
    if (section.name == ".nv.global" || section.name == ".nv.global.init") {
      const uint64_t room = UINT64_MAX - facts_.global_bytes;
      facts_.global_bytes += std::min(room, section.header.sh_size);
    }
  }

  /// Each kernel has its own section of attributes.
  Result<void> attributes() {
    constexpr std::string_view prefix = ".nv.info.";
    for (const Section& section : sections_) {
      if (section.name.starts_with(prefix)) {
        facts_.kernels[section.name.substr(prefix.size())];
      }
    }
    for (const Section& section : sections_) {
      KernelFacts* own = nullptr;
      if (section.name.starts_with(prefix)) {
        own = &facts_.kernels.at(section.name.substr(prefix.size()));
      } else if (section.name != ".nv.info") {
        continue;
      }
      TRY_VOID(entries(section, own));
    }
    return {};
  }

  Result<void> entries(const Section& section, KernelFacts* own) {
    const uint64_t end = section.header.sh_offset + section.header.sh_size;
    uint64_t at = section.header.sh_offset;
    if (end < at || !image_.slice(at, section.header.sh_size)) {
      return broken_cubin(section.name + " lies outside");
    }
    while (at + 4 <= end) {
      const auto kind = image_.at<std::array<uint8_t, 2>>(at);
      const auto length = image_.at<uint16_t>(at + 2);
      if (!kind || !length) break;
      at += 4;
      if ((*kind)[0] != sized_entry) continue;
      if (*length > end - at) return broken_cubin(section.name + " ends within an entry");
      if (auto done = entry(static_cast<Attribute>((*kind)[1]), at, *length, own); !done) {
        return fail(section.name, std::move(done.error()));
      }
      at += *length;
    }
    return {};
  }

  Result<void> entry(Attribute attribute, uint64_t at, uint16_t length, KernelFacts* own) {
    if (length < 8) return {};
    const uint32_t first = image_.at<uint32_t>(at).value_or(0);
    const uint32_t second = image_.at<uint32_t>(at + 4).value_or(0);
    if (own == nullptr) {
      KernelFacts* kernel = named(first);
      if (kernel == nullptr) return {};
      if (attribute == Attribute::register_count) kernel->registers = second;
      if (attribute == Attribute::frame_size) kernel->stack_bytes = second;
      return {};
    }
    if (attribute == Attribute::max_threads && length == 12) {
      const uint32_t third = image_.at<uint32_t>(at + 8).value_or(0);
      own->max_threads = std::min(first, 1024U) * std::min(second, 1024U) * std::min(third, 1024U);
    }
    if (attribute == Attribute::kernel_parameter && length == 12) return parameter(at, *own);
    return {};
  }

  Result<void> parameter(uint64_t at, KernelFacts& kernel) {
    const uint16_t position = image_.at<uint16_t>(at + 4).value_or(0);
    const uint16_t offset = image_.at<uint16_t>(at + 6).value_or(0);
    const uint32_t bytes = image_.at<uint32_t>(at + 8).value_or(0) >> 18U;
    if (position >= most_parameters || offset + bytes > largest_parameters) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("parameter {} of {} bytes at {}", position, bytes, offset));
    }
    if (kernel.parameters.size() <= position) kernel.parameters.resize(position + size_t{1});
    kernel.parameters[position] = {offset, bytes};
    return {};
  }

  KernelFacts* named(uint32_t symbol) {
    if (symbol >= names_.size()) return nullptr;
    const auto kernel = facts_.kernels.find(names_[symbol]);
    return kernel == facts_.kernels.end() ? nullptr : &kernel->second;
  }

  ElfImage image_;
  Elf64_Ehdr header_{};
  std::vector<Section> sections_;
  std::vector<std::string> names_;  // of symbols
  CubinFacts facts_;
};

}  // namespace

Result<CubinFacts> read_cubin(std::string_view elf) {
  return CubinReader{elf}.read();
}

std::optional<Objection> objection_to(const CubinFacts& facts, uint64_t global_bytes) {
  if (facts.kernels.empty()) {
    return Objection{VerdictClass::launch_error,
                     "kernels.cu has no kernel: extern \"C\" __global__ void NAME(…)"};
  }
  if (!facts.missing.empty()) {
    const std::string& name = facts.missing.front();
    return Objection{VerdictClass::banned_construct,
                     name == "vprintf" ? "printf in a kernel" : "a call of " + name};
  }
  if (facts.global_bytes > global_bytes) {
    return Objection{
        VerdictClass::banned_construct,
        fmt::format("{} bytes of __device__ variables; at most {}: take scratch buffers",
                    facts.global_bytes, global_bytes)};
  }
  for (const auto& [name, kernel] : facts.kernels) {
    if (kernel.stack_bytes <= most_stack_bytes) continue;
    return Objection{
        VerdictClass::banned_construct,
        fmt::format(
            "{} bytes of local memory in each thread of {}; at most {}: take scratch buffers",
            kernel.stack_bytes, name, most_stack_bytes)};
  }
  return std::nullopt;
}

}  // namespace warpsmith::sandbox
