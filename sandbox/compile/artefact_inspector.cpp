// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/artefact_inspector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sandbox/compile/elf_image.hpp"

namespace warpsmith::sandbox {
namespace {

tl::unexpected<Error> broken(const std::string& what) {
  return fail(ErrorCode::parse_failed, "artefact: " + what);
}

struct Tables {
  uint64_t dynamic = 0, dynamic_bytes = 0;  // file offset and size of PT_DYNAMIC
  uint64_t symbols = 0, symbol_count = 0;   // of .dynsym
  uint64_t strings = 0;                     // of .dynstr
};

Result<Elf64_Ehdr> header_of(const ElfImage& image) {
  const auto header = image.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return broken("not an ELF file");
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN) {
    return broken("not a 64-bit shared object");
  }
  if (header->e_machine != EM_X86_64 && header->e_machine != EM_AARCH64) {
    return broken(fmt::format("machine {} is not ours", header->e_machine));
  }
  if (header->e_phnum > 64 || header->e_shnum > 4096) return broken("too many headers");
  return *header;
}

Result<Tables> tables_of(const ElfImage& image, const Elf64_Ehdr& header) {
  Tables tables;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = image.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return broken(fmt::format("program header {} lies outside", i));
    if (segment->p_type != PT_DYNAMIC) continue;
    tables.dynamic = segment->p_offset;
    tables.dynamic_bytes = segment->p_filesz;
  }
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = image.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return broken(fmt::format("section header {} lies outside", i));
    if (section->sh_type != SHT_DYNSYM) continue;
    const auto strings =
        image.at<Elf64_Shdr>(header.e_shoff + uint64_t{section->sh_link} * sizeof(Elf64_Shdr));
    if (!strings) return broken("the symbols' strings lie outside");
    tables.symbols = section->sh_offset;
    tables.symbol_count = section->sh_size / sizeof(Elf64_Sym);
    tables.strings = strings->sh_offset;
  }
  if (tables.dynamic == 0 || tables.symbols == 0) return broken("no dynamic section or symbols");
  if (tables.symbol_count > 100'000) return broken("too many symbols");
  return tables;
}

Result<void> read_dynamic(const ElfImage& image, const Tables& tables, ArtefactFacts& facts) {
  const uint64_t count = std::min<uint64_t>(tables.dynamic_bytes / sizeof(Elf64_Dyn), 4096);
  for (uint64_t i = 0; i < count; ++i) {
    const auto entry = image.at<Elf64_Dyn>(tables.dynamic + i * sizeof(Elf64_Dyn));
    if (!entry) return broken("the dynamic section lies outside");
    switch (entry->d_tag) {
      case DT_NEEDED:
        facts.needed.push_back(image.text_at(tables.strings + entry->d_un.d_val));
        break;
      case DT_INIT:
      case DT_FINI:
        facts.initialiser = true;
        break;
      case DT_INIT_ARRAYSZ:
      case DT_FINI_ARRAYSZ:
      case DT_PREINIT_ARRAYSZ:
        facts.constructors += entry->d_un.d_val / sizeof(uint64_t);
        break;
      case DT_TEXTREL:
        facts.text_relocations = true;
        break;
      case DT_NULL:
        return {};
      default:
        break;
    }
  }
  return {};
}

Result<void> read_symbols(const ElfImage& image, const Tables& tables, ArtefactFacts& facts) {
  for (uint64_t i = 1; i < tables.symbol_count; ++i) {
    const auto symbol = image.at<Elf64_Sym>(tables.symbols + i * sizeof(Elf64_Sym));
    if (!symbol) return broken(fmt::format("symbol {} lies outside", i));
    const std::string name = image.text_at(tables.strings + symbol->st_name);
    const bool imported = symbol->st_shndx == SHN_UNDEF;
    (imported ? facts.imports : facts.exports).push_back(name);
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC && !imported) {
      facts.indirect_functions = true;
    }
  }
  return {};
}

bool has_resolvers(std::string_view relocations, uint32_t by_resolver) {
  const ElfImage entries{relocations};
  for (uint64_t at = 0; const auto entry = entries.at<Elf64_Rela>(at); at += sizeof(Elf64_Rela)) {
    if (ELF64_R_TYPE(entry->r_info) == by_resolver) return true;
  }
  return false;
}

/// Resolvers run while the object is loaded. A local function's resolver has no symbol, only a
/// relocation.
Result<void> read_relocations(const ElfImage& image, const Elf64_Ehdr& header,
                              ArtefactFacts& facts) {
  const uint32_t by_resolver =
      header.e_machine == EM_X86_64 ? R_X86_64_IRELATIVE : R_AARCH64_IRELATIVE;
  uint64_t left = image.size();  // sections that overlap would be read again and again
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = image.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return broken(fmt::format("section header {} lies outside", i));
    if (section->sh_type != SHT_RELA) continue;
    const auto entries = image.slice(section->sh_offset, section->sh_size);
    if (!entries || entries->size() > left) return broken("relocations lie outside or overlap");
    left -= entries->size();
    if (has_resolvers(*entries, by_resolver)) facts.indirect_functions = true;
  }
  return {};
}

bool is_allowed_library(const std::string& name) {
  static constexpr std::array<std::string_view, 7> allowed{"libc.so.6",
                                                           "libm.so.6",
                                                           "libmvec.so.1",
                                                           "libstdc++.so.6",
                                                           "libgcc_s.so.1",
                                                           "ld-linux-x86-64.so.2",
                                                           "ld-linux-aarch64.so.1"};
  return std::find(allowed.begin(), allowed.end(), name) != allowed.end();
}

/// Imports that no computation needs: refused early with a clear text, although the jail would make
/// them fail anyway.
const std::string* forbidden_import(const ArtefactFacts& facts) {
  static constexpr std::array<std::string_view, 33> forbidden{"fork",
                                                              "vfork",
                                                              "clone",
                                                              "execve",
                                                              "execvp",
                                                              "system",
                                                              "popen",
                                                              "posix_spawn",
                                                              "kill",
                                                              "ptrace",
                                                              "socket",
                                                              "connect",
                                                              "bind",
                                                              "dlopen",
                                                              "dlsym",
                                                              "dlmopen",
                                                              "mprotect",
                                                              "prctl",
                                                              "syscall",
                                                              "setsid",
                                                              "process_vm_readv",
                                                              "process_vm_writev",
                                                              "sched_setaffinity",
                                                              "unshare",
                                                              "setns",
                                                              "mount",
                                                              "chroot",
                                                              "memfd_create",
                                                              "shm_open",
                                                              "timer_create",
                                                              "setitimer",
                                                              "personality",
                                                              "io_uring_setup"};
  const auto found =
      std::find_if(facts.imports.begin(), facts.imports.end(), [](const std::string& name) {
        return std::find(forbidden.begin(), forbidden.end(), name) != forbidden.end();
      });
  return found == facts.imports.end() ? nullptr : &*found;
}

/// std::thread's way into the library.
bool starts_threads(const ArtefactFacts& facts) {
  constexpr std::string_view start = "_ZNSt6thread15_M_start_thread";
  return std::any_of(facts.imports.begin(), facts.imports.end(), [&](const std::string& name) {
    return name.starts_with(start) || name == "pthread_create";
  });
}

Objection banned(std::string text) {
  return {VerdictClass::banned_construct, std::move(text)};
}

}  // namespace

Result<ArtefactFacts> read_artefact(std::string_view elf) {
  const ElfImage image{elf};
  TRY(const auto header, header_of(image));
  TRY(const auto tables, tables_of(image, header));
  ArtefactFacts facts;
  TRY_VOID(read_dynamic(image, tables, facts));
  TRY_VOID(read_symbols(image, tables, facts));
  TRY_VOID(read_relocations(image, header, facts));
  return facts;
}

std::optional<Objection> objection_to(const ArtefactFacts& facts, const std::string& entry_point) {
  const auto& exports = facts.exports;
  if (std::find(exports.begin(), exports.end(), entry_point) == exports.end()) {
    return Objection{VerdictClass::launch_error,
                     "kernel.cpp does not export extern \"C\" void " + entry_point +
                         "(const void* const* in, void* const* out, const int64_t* dims)"};
  }
  if (facts.constructors > 0 || facts.initialiser) {
    return banned("code that runs at load time (global objects with constructors or destructors)");
  }
  if (facts.indirect_functions) return banned("indirect functions (ifunc, target_clones)");
  if (facts.text_relocations) return banned("relocations in code");
  for (const std::string& library : facts.needed) {
    if (!is_allowed_library(library)) return banned("the library " + library);
  }
  if (starts_threads(facts)) return banned("threads (a kernel runs on one core)");
  if (const std::string* name = forbidden_import(facts)) return banned("a call of " + *name);
  return std::nullopt;
}

}  // namespace warpsmith::sandbox
