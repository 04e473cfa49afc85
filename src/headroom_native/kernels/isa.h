// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headroom::native {

/// Instruction sets that kernels are written for, each a superset of the one before but where it says what it
/// has in place of that.
enum class Isa {
  kBaseline,    ///< what the compiler may assume of every CPU of this architecture
  kAvx2,        ///< AVX2 and FMA
  kAvxVnni,     ///< AVX-VNNI too, or what AVX-512 has of it: products of bytes in vectors of 32
  kAvx512,      ///< AVX-512 F, BW, CD, DQ, VL
  kAvx512Vnni,  ///< AVX512-VNNI too: products of bytes
  kAvx512Bf16,  ///< AVX512-BF16 too: products of bf16
  kAmx,         ///< AMX-BF16 too, and a kernel that permits it: products of tiles
  kNeonDot,     ///< on aarch64, FEAT_DotProd: products of bytes
  kNeonBf16,    ///< FEAT_BF16 too: products of bf16
  kSve,         ///< SVE in place of what is above the baseline, which a CPU may lack: products of bytes
  kSveBf16      ///< SVE beside kNeonBf16: products of bf16
};

/// "baseline", "avx2", "avx_vnni", "avx512", "avx512_vnni", "avx512_bf16", "amx", "neon_dot", "neon_bf16",
/// "sve", "sve_bf16".
const char* name_of(Isa isa);

/// All of them, worst first of each architecture, and those that this CPU has.
std::vector<Isa> all_isas();
std::vector<Isa> available_isas();

/// Whether this CPU has AVX-VNNI itself, the encoding without AVX-512.
bool has_vex_vnni();

/// Whether this CPU has AVX512-VBMI (permutations of bytes), and `isa` allows for it: the CPUs that have it
/// beside AVX512-BF16.
bool has_byte_permutation(Isa isa);

/// Bytes of a vector of SVE, on a CPU that has it; 0 on other architectures than aarch64.
std::size_t sve_bytes();

/// The best that this CPU has, but none better than the environment variable HEADROOM_ISA names.
/// Throws Error when it names none, or one that this CPU lacks.
Isa chosen_isa();

}  // namespace headroom::native
