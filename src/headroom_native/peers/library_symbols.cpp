// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/peers/library_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/workload/mapped_file.h"

namespace headroom::native {
namespace {

#if defined(__x86_64__)
constexpr auto kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr auto kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr auto kMachine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr auto kMachine = EM_PPC64;
#else
constexpr auto kMachine = EM_S390;
#endif

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_386:
      return "32-bit x86";
    case EM_AARCH64:
      return "aarch64";
    case EM_ARM:
      return "32-bit arm";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "powerpc64";
    case EM_S390:
      return "s390";
    default:
      return "machine " + std::to_string(machine) + " of ELF";
  }
}

/// A structure at `offset`; nothing where the file is too short for it.
template <typename T>
std::optional<T> at(std::span<const std::byte> file, std::size_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

std::string text_at(std::span<const std::byte> file, std::size_t offset) {
  if (offset >= file.size()) return {};
  const std::string_view rest(reinterpret_cast<const char*>(file.data()) + offset, file.size() - offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

Elf64_Ehdr checked_header(std::span<const std::byte> file, const std::string& path) {
  const auto header = at<Elf64_Ehdr>(file, 0);
  const bool is_elf = file.size() >= EI_NIDENT && std::memcmp(file.data(), ELFMAG, SELFMAG) == 0;
  if (!is_elf) throw Error(in_quotes(path) + " is no shared library: its first bytes are not those of ELF");
  if (!header) throw Error(in_quotes(path) + " is cut off: it ends within the header of ELF");
  constexpr auto kOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  if (header->e_machine != kMachine || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != kOrder) {
    throw Error(in_quotes(path) + " is for " + machine_name(header->e_machine) + ", and this program for " +
                machine_name(kMachine) + ": build the library for the machine that runs it");
  }
  if (header->e_type != ET_DYN)
    throw Error(in_quotes(path) + " is ELF but no shared library: link it with -shared");
  return *header;
}

}  // namespace

std::vector<std::string> exported_functions(const std::string& path) {
  const MappedFile mapped(path);
  const std::span<const std::byte> file = mapped.bytes();
  const Elf64_Ehdr header = checked_header(file, path);
  const auto section = [&](std::size_t index) {
    return at<Elf64_Shdr>(file, header.e_shoff + index * sizeof(Elf64_Shdr)).value_or(Elf64_Shdr{});
  };
  std::vector<std::string> names;
  for (std::size_t index = 0; index < header.e_shnum; ++index) {
    const Elf64_Shdr symbols = section(index);
    if (symbols.sh_type != SHT_DYNSYM) continue;
    const Elf64_Shdr text = section(symbols.sh_link);
    // No more than the file has room for, whatever its header says.
    const std::size_t count = std::min<std::size_t>(symbols.sh_size, file.size()) / sizeof(Elf64_Sym);
    for (std::size_t i = 0; i < count; ++i) {
      const auto symbol = at<Elf64_Sym>(file, symbols.sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol || symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) continue;
      if (std::string name = text_at(file, text.sh_offset + symbol->st_name); !name.empty())
        names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace headroom::native
