// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/cpuid.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "headroom/base/text.h"
#include "headroom/machine/text_file.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace headroom {
namespace {

enum class Word { kLeaf1Ecx, kLeaf7Ebx, kLeaf7Ecx, kLeaf7Edx, kLeaf71Eax };

// What XCR0 must show for the registers to be saved: XMM and YMM; those of AVX-512; those of AMX.
constexpr std::uint64_t kAvxState = 0x6;
constexpr std::uint64_t kAvx512State = 0xE6;
constexpr std::uint64_t kAmxState = 0x60000;

struct Isa {
  const char* name;
  Word word;
  int bit;
  std::uint64_t state;
};

// machine_fingerprint() hashes these names: adding one gives every machine that has it a new fingerprint.
constexpr Isa kIsas[] = {
    {"fma", Word::kLeaf1Ecx, 12, kAvxState},
    {"f16c", Word::kLeaf1Ecx, 29, kAvxState},
    {"avx", Word::kLeaf1Ecx, 28, kAvxState},
    {"avx2", Word::kLeaf7Ebx, 5, kAvxState},
    {"avx_vnni", Word::kLeaf71Eax, 4, kAvxState},
    {"avx512f", Word::kLeaf7Ebx, 16, kAvx512State},
    {"avx512bw", Word::kLeaf7Ebx, 30, kAvx512State},
    {"avx512dq", Word::kLeaf7Ebx, 17, kAvx512State},
    {"avx512vl", Word::kLeaf7Ebx, 31, kAvx512State},
    {"avx512_vnni", Word::kLeaf7Ecx, 11, kAvx512State},
    {"avx512_bf16", Word::kLeaf71Eax, 5, kAvx512State},
    {"avx512_fp16", Word::kLeaf7Edx, 23, kAvx512State},
    {"amx_tile", Word::kLeaf7Edx, 24, kAmxState},
    {"amx_bf16", Word::kLeaf7Edx, 22, kAmxState},
    {"amx_int8", Word::kLeaf7Edx, 25, kAmxState},
    {"amx_fp16", Word::kLeaf71Eax, 21, kAmxState},
};

std::uint32_t word_of(const IsaWords& words, Word word) {
  switch (word) {
    case Word::kLeaf1Ecx:
      return words.leaf1_ecx;
    case Word::kLeaf7Ebx:
      return words.leaf7_ebx;
    case Word::kLeaf7Ecx:
      return words.leaf7_ecx;
    case Word::kLeaf7Edx:
      return words.leaf7_edx;
    case Word::kLeaf71Eax:
      return words.leaf7_1_eax;
  }
  return 0;
}

/// The value of the first line "name   : value".
std::string field(const std::string& cpuinfo, std::string_view name) {
  for (const std::string& line : split(cpuinfo, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || trimmed(std::string_view(line).substr(0, colon)) != name) continue;
    return std::string(trimmed(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

int hexadecimal(const std::string& text) {
  return static_cast<int>(std::strtol(text.c_str(), nullptr, 16));
}

#if defined(__x86_64__)

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

std::uint64_t read_xcr0() {
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

IsaWords read_isa_words() {
  IsaWords words;
  constexpr std::uint32_t kOsSavesExtendedState = 1U << 27;
  words.leaf1_ecx = cpuid(1).ecx;
  const Registers leaf7 = cpuid(7);
  words.leaf7_ebx = leaf7.ebx;
  words.leaf7_ecx = leaf7.ecx;
  words.leaf7_edx = leaf7.edx;
  if (leaf7.eax >= 1) words.leaf7_1_eax = cpuid(7, 1).eax;
  if ((words.leaf1_ecx & kOsSavesExtendedState) != 0) words.xcr0 = read_xcr0();
  return words;
}

void append(std::string& text, std::initializer_list<std::uint32_t> words) {
  for (const std::uint32_t word : words) {
    char bytes[4];
    std::memcpy(bytes, &word, sizeof bytes);
    text.append(bytes, sizeof bytes);
  }
}

std::string read_brand() {
  std::string brand;
  if (cpuid(0x80000000).eax < 0x80000004) return brand;
  for (std::uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const Registers r = cpuid(leaf);
    append(brand, {r.eax, r.ebx, r.ecx, r.edx});
  }
  brand.resize(std::min(brand.find('\0'), brand.size()));
  return std::string(trimmed(brand));
}

#endif

}  // namespace

std::vector<std::string> isa_names(const IsaWords& words) {
  std::vector<std::string> names;
  for (const Isa& isa : kIsas) {
    const bool there = (word_of(words, isa.word) >> isa.bit & 1U) != 0;
    if (there && (words.xcr0 & isa.state) == isa.state) names.emplace_back(isa.name);
  }
  return names;
}

CpuIdentity parse_arm_cpuinfo(const std::string& cpuinfo) {
  CpuIdentity cpu;
  const int implementer = hexadecimal(field(cpuinfo, "CPU implementer"));
  cpu.vendor = implementer == 0x41 ? "ARM" : std::string();
  cpu.brand = field(cpuinfo, "model name");
  cpu.family = hexadecimal(field(cpuinfo, "CPU architecture"));
  cpu.model = hexadecimal(field(cpuinfo, "CPU part"));
  cpu.stepping = hexadecimal(field(cpuinfo, "CPU revision"));
  const std::vector<std::string> features = split(field(cpuinfo, "Features"), ' ');
  for (const char* name :
       {"asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2", "svebf16", "svei8mm", "sme"}) {
    if (std::find(features.begin(), features.end(), name) != features.end()) cpu.isa.emplace_back(name);
  }
  cpu.hardware_isa = cpu.isa;
  return cpu;
}

CpuIdentity read_cpu_identity() {
#if defined(__x86_64__)
  CpuIdentity cpu;
  const Registers leaf0 = cpuid(0);
  append(cpu.vendor, {leaf0.ebx, leaf0.edx, leaf0.ecx});
  cpu.brand = read_brand();
  const std::uint32_t version = cpuid(1).eax;
  cpu.family = static_cast<int>(version >> 8 & 0xF);
  if (cpu.family == 0xF) cpu.family += static_cast<int>(version >> 20 & 0xFF);
  cpu.model = static_cast<int>((version >> 4 & 0xF) | (version >> 12 & 0xF0));
  cpu.stepping = static_cast<int>(version & 0xF);
  IsaWords words = read_isa_words();
  cpu.isa = isa_names(words);
  words.xcr0 = ~std::uint64_t{0};
  cpu.hardware_isa = isa_names(words);
  return cpu;
#else
  return parse_arm_cpuinfo(text_of_file("/proc/cpuinfo"));
#endif
}

}  // namespace headroom
