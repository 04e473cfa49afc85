// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/isa.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "headroom/base/error.h"
#include "headroom_native/kernels/code_generation.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace headroom::native {
namespace {

constexpr std::pair<Isa, const char*> kAll[] = {{Isa::kBaseline, "baseline"},
                                                {Isa::kAvx2, "avx2"},
                                                {Isa::kAvxVnni, "avx_vnni"},
                                                {Isa::kAvx512, "avx512"},
                                                {Isa::kAvx512Vnni, "avx512_vnni"},
                                                {Isa::kAvx512Bf16, "avx512_bf16"},
                                                {Isa::kAmx, "amx"},
                                                {Isa::kNeonDot, "neon_dot"},
                                                {Isa::kNeonBf16, "neon_bf16"},
                                                {Isa::kSve, "sve"},
                                                {Isa::kSveBf16, "sve_bf16"}};

#if defined(__x86_64__)
/// What the baseline of AVX2 kernels has besides: LZCNT and F16C, of which not every compiler can tell.
bool has_lzcnt_and_f16c() {
  unsigned a = 0, b = 0, base = 0, extended = 0, d = 0;
  return __get_cpuid(1, &a, &b, &base, &d) != 0 && (base >> 29 & 1) != 0 &&
         __get_cpuid(0x80000001, &a, &b, &extended, &d) != 0 && (extended >> 5 & 1) != 0;
}
#endif

bool cpu_has([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kBaseline:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_lzcnt_and_f16c();
    case Isa::kAvxVnni:
      return cpu_has(Isa::kAvx2) && (has_vex_vnni() || cpu_has(Isa::kAvx512Vnni));
    case Isa::kAvx512:
      return cpu_has(Isa::kAvx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd");
    case Isa::kAvx512Vnni:
      return cpu_has(Isa::kAvx512) && __builtin_cpu_supports("avx512vnni");
    case Isa::kAvx512Bf16:
      return cpu_has(Isa::kAvx512Vnni) && __builtin_cpu_supports("avx512bf16");
    case Isa::kAmx:
      return cpu_has(Isa::kAvx512Bf16) && cpu_has_tiles("bf16") && permits_tiles();
    default:
      return false;
  }
#elif defined(__aarch64__)
  const auto has = [](unsigned long type, unsigned long bits) { return (getauxval(type) & bits) != 0; };
  if (isa == Isa::kNeonDot) return has(AT_HWCAP, HWCAP_ASIMDDP);
  if (isa == Isa::kNeonBf16) return cpu_has(Isa::kNeonDot) && has(AT_HWCAP2, HWCAP2_BF16);
  if (isa == Isa::kSve) return HEADROOM_HAS_SVE != 0 && has(AT_HWCAP, HWCAP_SVE);
  if (isa == Isa::kSveBf16)
    return cpu_has(Isa::kSve) && cpu_has(Isa::kNeonBf16) && has(AT_HWCAP2, HWCAP2_SVEBF16);
  return isa == Isa::kBaseline;
#else
  return isa == Isa::kBaseline;
#endif
}

}  // namespace

std::size_t sve_bytes() {
  std::size_t bytes = 0;
#if defined(__aarch64__)
  asm(".arch armv8.2-a+sve\n\tcntb %0" : "=r"(bytes));
#endif
  return bytes;
}

const char* name_of(Isa isa) {
  return kAll[static_cast<std::size_t>(isa)].second;
}

std::vector<Isa> all_isas() {
  std::vector<Isa> all;
  for (const auto& [isa, name] : kAll) all.push_back(isa);
  return all;
}

std::vector<Isa> available_isas() {
  std::vector<Isa> found = all_isas();
  std::erase_if(found, [](Isa isa) { return !cpu_has(isa); });
  return found;
}

bool has_vex_vnni() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
#else
  return false;
#endif
}

bool has_byte_permutation([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  return isa >= Isa::kAvx512Bf16 && __builtin_cpu_supports("avx512vbmi");
#else
  return false;
#endif
}

#if defined(__x86_64__) && defined(__linux__)
bool cpu_has_tiles(std::string_view dtype) {
  // Leaf 7 of cpuid: bit 22 amx-bf16, bit 24 amx-tile, bit 25 amx-int8.
  const unsigned operand = dtype == "bf16" ? 22 : 25;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return ((edx >> 24) & 1U) != 0 && ((edx >> operand) & 1U) != 0;
}

bool permits_tiles() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureXtiledata = 18;
  return ::syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}
#else
bool cpu_has_tiles(std::string_view) {
  return false;
}
bool permits_tiles() {
  return false;
}
#endif

Isa chosen_isa() {
  const char* wanted = std::getenv("HEADROOM_ISA");
  if (wanted == nullptr || *wanted == '\0') return available_isas().back();
  std::string names;
  for (const auto& [isa, name] : kAll) {
    names += std::string(name) + ", ";
    if (wanted != std::string_view(name)) continue;
    if (cpu_has(isa)) return isa;
    throw Error("HEADROOM_ISA asks for " + std::string(wanted) +
                ", which this CPU lacks; choose another or unset it");
  }
  throw Error("HEADROOM_ISA is '" + std::string(wanted) + "'; it must be " + names + "or unset");
}

}  // namespace headroom::native
