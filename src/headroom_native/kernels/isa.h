// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace headroom::native {

/// Instruction sets with separate kernels. Each includes the previous ones of its architecture, unless noted.
enum class Isa {
  kBaseline,    ///< available on every CPU
  kAvx2,        ///< AVX2 and FMA
  kAvxVnni,     ///< AVX-VNNI or its AVX-512 counterpart, in vectors of 32
  kAvx512,      ///< AVX-512 F, BW, CD, DQ, VL
  kAvx512Vnni,  ///< AVX512-VNNI: byte products
  kAvx512Bf16,  ///< AVX512-BF16: products of bf16
  kAmx,         ///< AMX-BF16, permitted by the operating system: tile products
  kNeonDot,     ///< aarch64, FEAT_DotProd: byte products
  kNeonBf16,    ///< FEAT_BF16: products of bf16
  kSve,         ///< SVE, does not include kNeonDot: byte products
  kSveBf16      ///< SVE and kNeonBf16: products of bf16
};

const char* name_of(Isa isa);

/// Return instruction sets, weakest first per architecture.
std::vector<Isa> all_isas();
std::vector<Isa> available_isas();

/// True if this CPU has the VEX encoding, which needs no AVX-512.
bool has_vex_vnni();

/// True if this CPU has AVX512-VBMI and `isa` is at least kAvx512Bf16.
bool has_byte_permutation(Isa isa);

/// Bytes of a vector; 0 outside aarch64. The CPU must have SVE.
std::size_t sve_bytes();

/// `dtype`: "bf16" or "int8".
bool cpu_has_tiles(std::string_view dtype);

/// Asks Linux to permit AMX tiles (arch_prctl(2)) for the process.
bool permits_tiles();

/// The best, or HEADROOM_ISA. Throws Error if that is unknown or this CPU lacks it.
Isa chosen_isa();

}  // namespace headroom::native
