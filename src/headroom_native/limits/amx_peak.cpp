// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/amx_peak.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cstdint>

#include "headroom_native/kernels/amx_tiles.h"
#endif

namespace headroom::native {

#if defined(__x86_64__) && defined(__linux__)
namespace {

// Six results hide the latency of 52 cycles behind six times the 16 cycles that each product takes. Tiles are
// zeroed: the time of a product does not depend on its values.
#define HEADROOM_TILE_LOOP(function, instruction)                                           \
  void function(std::uint64_t rounds) {                                                     \
    const TileConfig config;                                                                \
    asm volatile(                                                                           \
        "ldtilecfg %1\n\t"                                                                  \
        "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3\n\t"      \
        "tilezero %%tmm4\n\ttilezero %%tmm5\n\ttilezero %%tmm6\n\ttilezero %%tmm7\n\t"      \
        ".p2align 6\n\t1:\n\t" instruction " %%tmm6, %%tmm7, %%tmm0\n\t" instruction        \
        " %%tmm6, %%tmm7, %%tmm1\n\t" instruction " %%tmm6, %%tmm7, %%tmm2\n\t" instruction \
        " %%tmm6, %%tmm7, %%tmm3\n\t" instruction " %%tmm6, %%tmm7, %%tmm4\n\t" instruction \
        " %%tmm6, %%tmm7, %%tmm5\n\tdec %0\n\tjnz 1b\n\ttilerelease"                        \
        : "+r"(rounds)                                                                      \
        : "m"(config)                                                                       \
        : "cc");                                                                            \
  }
HEADROOM_TILE_LOOP(bf16_tiles, "tdpbf16ps")
HEADROOM_TILE_LOOP(int8_tiles, "tdpbusd")

constexpr double kTiles = 6;

}  // namespace

PeakKernel amx_peak_kernel(std::string_view dtype, Isa isa) {
  const bool is_bf16 = dtype == "bf16";
  if (!is_bf16 && dtype != "int8") return {};
  if (isa < Isa::kAvx512)
    return {nullptr, 0, {}, "HEADROOM_ISA or this CPU allows no AVX-512, and so no AMX"};
  if (!cpu_has_tiles(dtype)) return {nullptr, 0, {}, "no AMX for " + std::string(dtype)};
  if (!permits_tiles())
    return {nullptr, 0, {}, "the kernel does not permit AMX tiles (arch_prctl ARCH_REQ_XCOMP_PERM)"};
  // 16 x 16 results, each a sum of 32 (bf16) or 64 (int8) products.
  if (is_bf16) return {bf16_tiles, kTiles * 16 * 16 * 32 * 2, "tdpbf16ps", {}};
  return {int8_tiles, kTiles * 16 * 16 * 64 * 2, "tdpbusd", {}};
}

#else

PeakKernel amx_peak_kernel(std::string_view, Isa) {
  return {};
}

#endif

}  // namespace headroom::native
