// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace headroom::native {

/// Instruction sets with kernels of their own. Each includes the ones before it on its architecture, unless
/// noted.
enum class Isa {
  kBaseline,    ///< whatever the compiler may assume of every CPU of this architecture
  kAvx2,        ///< AVX2 and FMA
  kAvxVnni,     ///< AVX-VNNI, or its AVX-512 counterpart: products of bytes in vectors of 32
  kAvx512,      ///< AVX-512 F, BW, CD, DQ, VL
  kAvx512Vnni,  ///< AVX512-VNNI: products of bytes
  kAvx512Bf16,  ///< AVX512-BF16: products of bf16
  kAmx,         ///< AMX-BF16, and an operating system that permits it: products of tiles
  kNeonDot,     ///< on aarch64, FEAT_DotProd: products of bytes
  kNeonBf16,    ///< FEAT_BF16: products of bf16
  kSve,         ///< SVE, does not include kNeonDot: products of bytes
  kSveBf16      ///< SVE and kNeonBf16: products of bf16
};

/// "baseline", "avx2", "avx_vnni", "avx512", "avx512_vnni", "avx512_bf16", "amx", "neon_dot", "neon_bf16",
/// "sve", "sve_bf16".
const char* name_of(Isa isa);

/// All instruction sets, weakest first per architecture, and those of this CPU.
std::vector<Isa> all_isas();
std::vector<Isa> available_isas();

/// Whether this CPU has AVX-VNNI itself, the encoding without AVX-512.
bool has_vex_vnni();

/// Whether this CPU has AVX512-VBMI (byte permutations) and `isa` is at least kAvx512Bf16.
bool has_byte_permutation(Isa isa);

/// Bytes of an SVE vector, on a CPU with SVE; 0 on other architectures than aarch64.
std::size_t sve_bytes();

/// Whether this CPU multiplies tiles of `dtype` ("bf16", "int8").
bool cpu_has_tiles(std::string_view dtype);

/// Asks Linux for tile state (arch_prctl(2)), which it saves only on request. The permission holds for all
/// threads of the process; asking again is harmless.
bool permits_tiles();

/// The best instruction set of this CPU, or the one named by the environment variable HEADROOM_ISA. Throws
/// Error if that name is unknown or this CPU lacks it.
Isa chosen_isa();

}  // namespace headroom::native
