// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/peak_kernels.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cstdint>

#include "headroom_native/kernels/amx_tiles.h"
#endif

namespace headroom::native {

namespace {

/// Twelve results fit the registers and hide a latency of up to six at two instructions per cycle.
constexpr double kResults = 12;

#if defined(__x86_64__)

// Assembly: GCC 12 spills twelve vector accumulators, which costs two thirds of the peak.
#define HEADROOM_TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define HEADROOM_CLEAR(i) "vpxor %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n\t"
#define HEADROOM_PEAK_LOOP(function, step)                                                                    \
  void function(std::uint64_t rounds) {                                                                       \
    asm volatile(HEADROOM_TWELVE(HEADROOM_CLEAR) HEADROOM_CLEAR(14) HEADROOM_CLEAR(15) ".p2align 6\n\t"     \
                 "1:\n\t" HEADROOM_TWELVE(step) "dec %0\n\tjnz 1b\n\tvzeroupper"                            \
                 : "+r"(rounds)                                                                             \
                 :                                                                                          \
                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                   "xmm11", "xmm13", "xmm14", "xmm15", "cc"); \
  }

#define HEADROOM_F64_ZMM(i) "vfmadd231pd %%zmm14, %%zmm15, %%zmm" #i "\n\t"
#define HEADROOM_F32_ZMM(i) "vfmadd231ps %%zmm14, %%zmm15, %%zmm" #i "\n\t"
#define HEADROOM_F64_YMM(i) "vfmadd231pd %%ymm14, %%ymm15, %%ymm" #i "\n\t"
#define HEADROOM_F32_YMM(i) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #i "\n\t"
#define HEADROOM_BF16_ZMM(i) "vdpbf16ps %%zmm14, %%zmm15, %%zmm" #i "\n\t"
#define HEADROOM_INT8_ZMM(i) "vpdpbusd %%zmm14, %%zmm15, %%zmm" #i "\n\t"
HEADROOM_PEAK_LOOP(f64_zmm, HEADROOM_F64_ZMM)
HEADROOM_PEAK_LOOP(f32_zmm, HEADROOM_F32_ZMM)
HEADROOM_PEAK_LOOP(f64_ymm, HEADROOM_F64_YMM)
HEADROOM_PEAK_LOOP(f32_ymm, HEADROOM_F32_YMM)
HEADROOM_PEAK_LOOP(bf16_zmm, HEADROOM_BF16_ZMM)
HEADROOM_PEAK_LOOP(int8_zmm, HEADROOM_INT8_ZMM)
// Without vpdpbusd: unsigned times signed bytes, summed in pairs and added in 16 bits.
#define HEADROOM_INT8_PAIRS_ZMM(i) \
  "vpmaddubsw %%zmm14, %%zmm15, %%zmm13\n\tvpaddw %%zmm13, %%zmm" #i ", %%zmm" #i "\n\t"
#define HEADROOM_INT8_PAIRS_YMM(i) \
  "vpmaddubsw %%ymm14, %%ymm15, %%ymm13\n\tvpaddw %%ymm13, %%ymm" #i ", %%ymm" #i "\n\t"
#define HEADROOM_INT8_YMM(i) "%{vex%} vpdpbusd %%ymm14, %%ymm15, %%ymm" #i "\n\t"
HEADROOM_PEAK_LOOP(int8_pairs_zmm, HEADROOM_INT8_PAIRS_ZMM)
HEADROOM_PEAK_LOOP(int8_pairs_ymm, HEADROOM_INT8_PAIRS_YMM)
#define HEADROOM_INT8_EVEX_YMM(i) "%{evex%} vpdpbusd %%ymm14, %%ymm15, %%ymm" #i "\n\t"
HEADROOM_PEAK_LOOP(int8_ymm, HEADROOM_INT8_YMM)
HEADROOM_PEAK_LOOP(int8_evex_ymm, HEADROOM_INT8_EVEX_YMM)

#endif

template <typename T>
void portable_fma(std::uint64_t rounds) {
  using Vector [[gnu::vector_size(16)]] = T;
#if defined(__x86_64__)
#define HEADROOM_IN_REGISTER "+x"
#elif defined(__aarch64__)
#define HEADROOM_IN_REGISTER "+w"
#else
#define HEADROOM_IN_REGISTER "+m"
#endif
  Vector factor{}, a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
  asm volatile("" : HEADROOM_IN_REGISTER(factor));
  for (; rounds > 0; --rounds) {
    a = a * factor + factor, b = b * factor + factor, c = c * factor + factor, d = d * factor + factor;
    e = e * factor + factor, f = f * factor + factor, g = g * factor + factor, h = h * factor + factor;
    asm volatile(""
                 : HEADROOM_IN_REGISTER(a), HEADROOM_IN_REGISTER(b), HEADROOM_IN_REGISTER(c),
                   HEADROOM_IN_REGISTER(d), HEADROOM_IN_REGISTER(e), HEADROOM_IN_REGISTER(f),
                   HEADROOM_IN_REGISTER(g), HEADROOM_IN_REGISTER(h));
  }
}

#if defined(__aarch64__)

// Sixteen results: four pipes with a latency of four (Neoverse V).
#define HEADROOM_SIXTEEN(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
#define HEADROOM_CLEAR_NEON(i) "movi v" #i ".16b, #0\n\t"
#define HEADROOM_NEON_LOOP(function, extension, step)                                                        \
  void function(std::uint64_t rounds) {                                                                      \
    asm volatile(extension HEADROOM_SIXTEEN(HEADROOM_CLEAR_NEON) HEADROOM_CLEAR_NEON(30)                     \
                     HEADROOM_CLEAR_NEON(31) ".p2align 6\n\t1:\n\t" HEADROOM_SIXTEEN(                        \
                         step) "subs %0, %0, #1\n\tb.ne 1b"                                                  \
                 : "+r"(rounds)                                                                              \
                 :                                                                                           \
                 : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", \
                   "v22", "v23", "v30", "v31", "p0", "cc");                                                  \
  }
#define HEADROOM_F64_NEON(i) "fmla v" #i ".2d, v30.2d, v31.2d\n\t"
#define HEADROOM_F32_NEON(i) "fmla v" #i ".4s, v30.4s, v31.4s\n\t"
#define HEADROOM_INT8_NEON(i) "sdot v" #i ".4s, v30.16b, v31.16b\n\t"
#define HEADROOM_BF16_NEON(i) "bfdot v" #i ".4s, v30.8h, v31.8h\n\t"
HEADROOM_NEON_LOOP(f64_neon, "", HEADROOM_F64_NEON)
HEADROOM_NEON_LOOP(f32_neon, "", HEADROOM_F32_NEON)
HEADROOM_NEON_LOOP(int8_neon, ".arch armv8.6-a\n\t", HEADROOM_INT8_NEON)
HEADROOM_NEON_LOOP(bf16_neon, ".arch armv8.6-a\n\t", HEADROOM_BF16_NEON)

// SVE variants; movi also clears the rest of a z register.
#define HEADROOM_F64_SVE(i) "fmla z" #i ".d, p0/m, z30.d, z31.d\n\t"
#define HEADROOM_F32_SVE(i) "fmla z" #i ".s, p0/m, z30.s, z31.s\n\t"
#define HEADROOM_INT8_SVE(i) "sdot z" #i ".s, z30.b, z31.b\n\t"
#define HEADROOM_BF16_SVE(i) "bfdot z" #i ".s, z30.h, z31.h\n\t"
#define HEADROOM_SVE ".arch armv8.6-a+sve+bf16\n\tptrue p0.b\n\t"
HEADROOM_NEON_LOOP(f64_sve, HEADROOM_SVE, HEADROOM_F64_SVE)
HEADROOM_NEON_LOOP(f32_sve, HEADROOM_SVE, HEADROOM_F32_SVE)
HEADROOM_NEON_LOOP(int8_sve, HEADROOM_SVE, HEADROOM_INT8_SVE)
HEADROOM_NEON_LOOP(bf16_sve, HEADROOM_SVE, HEADROOM_BF16_SVE)

#endif

struct VectorPeak {
  const char *dtype, *pattern;
  Isa least;
  PeakKernel kernel;
};

/// Of each dtype and pattern, the first that `isa` includes; empty without one.
PeakKernel vector_kernel(std::string_view dtype, std::string_view pattern, Isa isa) {
#if defined(__x86_64__)
  const auto int8_vnni = has_vex_vnni() ? int8_ymm : int8_evex_ymm;
#elif defined(__aarch64__)
  // A multiply and an add for each element of 16 results.
  const double neon = 16 * 2 * 16, sve = isa >= Isa::kSve ? 16 * 2 * static_cast<double>(sve_bytes()) : 0;
#endif
  const VectorPeak peaks[] = {
#if defined(__x86_64__)
    {"f64", "fma", Isa::kAvx512, {f64_zmm, kResults * 16, "vfmadd231pd zmm", {}}},
    {"f64", "fma", Isa::kAvx2, {f64_ymm, kResults * 8, "vfmadd231pd ymm", {}}},
    {"f32", "fma", Isa::kAvx512, {f32_zmm, kResults * 32, "vfmadd231ps zmm", {}}},
    {"f32", "fma", Isa::kAvx2, {f32_ymm, kResults * 16, "vfmadd231ps ymm", {}}},
    {"bf16", "dot", Isa::kAvx512Bf16, {bf16_zmm, kResults * 64, "vdpbf16ps zmm", {}}},
    {"bf16", "dot", Isa::kAvx2, {nullptr, 0, {}, "no AVX512-BF16"}},
    {"int8", "dot", Isa::kAvx512Vnni, {int8_zmm, kResults * 128, "vpdpbusd zmm", {}}},
    {"int8", "dot", Isa::kAvx512, {int8_pairs_zmm, kResults * 128, "vpmaddubsw + vpaddw zmm", {}}},
    {"int8", "dot", Isa::kAvxVnni, {int8_vnni, kResults * 64, "vpdpbusd ymm", {}}},
    {"int8", "dot", Isa::kAvx2, {int8_pairs_ymm, kResults * 64, "vpmaddubsw + vpaddw ymm", {}}},
#elif defined(__aarch64__)
    {"f64", "fma", Isa::kSve, {f64_sve, sve / 8, "fmla z.d", {}}},
    {"f64", "fma", Isa::kBaseline, {f64_neon, neon / 8, "fmla 2d", {}}},
    {"f32", "fma", Isa::kSve, {f32_sve, sve / 4, "fmla z.s", {}}},
    {"f32", "fma", Isa::kBaseline, {f32_neon, neon / 4, "fmla 4s", {}}},
    {"int8", "dot", Isa::kSve, {int8_sve, sve, "sdot z.s", {}}},
    {"int8", "dot", Isa::kNeonDot, {int8_neon, neon, "sdot 4s", {}}},
    {"int8", "dot", Isa::kBaseline, {nullptr, 0, {}, "no FEAT_DotProd"}},
    {"bf16", "dot", Isa::kSveBf16, {bf16_sve, sve / 2, "bfdot z.s", {}}},
    {"bf16", "dot", Isa::kSve, {nullptr, 0, {}, "no FEAT_BF16"}},
    {"bf16", "dot", Isa::kNeonBf16, {bf16_neon, neon / 2, "bfdot 4s", {}}},
    {"bf16", "dot", Isa::kBaseline, {nullptr, 0, {}, "no FEAT_BF16"}},
#endif
    {"f64", "fma", Isa::kBaseline, {portable_fma<double>, 8 * 4, "16-byte f64", {}}},
    {"f32", "fma", Isa::kBaseline, {portable_fma<float>, 8 * 8, "16-byte f32", {}}}
  };
  for (const VectorPeak& peak : peaks) {
    if (peak.dtype == dtype && peak.pattern == pattern && isa >= peak.least) return peak.kernel;
  }
  if (pattern == "dot" && isa < Isa::kAvx2)
    return {nullptr, 0, {}, "no dot-product instruction in the baseline"};
  return {};
}

#if defined(__x86_64__) && defined(__linux__)

// Six results hide the latency of 52 cycles; a product takes 16, whatever the values, so tiles are zero.
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

PeakKernel amx_peak_kernel(std::string_view dtype, Isa isa) {
  const bool is_bf16 = dtype == "bf16";
  if (!is_bf16 && dtype != "int8") return {};
  if (isa < Isa::kAvx512) return {nullptr, 0, {}, "HEADROOM_ISA or this CPU has no AVX-512, which AMX needs"};
  if (!cpu_has_tiles(dtype)) return {nullptr, 0, {}, "no AMX for " + std::string(dtype)};
  if (!permits_tiles())
    return {nullptr, 0, {}, "the Linux kernel does not permit AMX tiles (arch_prctl ARCH_REQ_XCOMP_PERM)"};
  // 16 x 16 results, each a sum of 32 (bf16) or 64 (int8) products.
  if (is_bf16) return {bf16_tiles, kTiles * 16 * 16 * 32 * 2, "tdpbf16ps", {}};
  return {int8_tiles, kTiles * 16 * 16 * 64 * 2, "tdpbusd", {}};
}

#else

PeakKernel amx_peak_kernel(std::string_view, Isa) {
  return {};
}

#endif

}  // namespace

PeakKernel peak_kernel(std::string_view dtype, std::string_view pattern, Isa isa) {
  const bool is_narrow = dtype == "bf16" || dtype == "int8";
  if (pattern == "fma" && is_narrow) {
    // If dot products are slow or missing, widening to f32 is fastest, so it is a bound too.
    PeakKernel kernel = vector_kernel("f32", "fma", isa);
    kernel.instruction += " (widened)";
    return kernel;
  }
  PeakKernel kernel = pattern == "amx" ? amx_peak_kernel(dtype, isa) : vector_kernel(dtype, pattern, isa);
  if (kernel.run == nullptr && kernel.why_not.empty()) {
    kernel.why_not = "no " + std::string(pattern) + " instruction for " + std::string(dtype);
  }
  return kernel;
}

}  // namespace headroom::native
