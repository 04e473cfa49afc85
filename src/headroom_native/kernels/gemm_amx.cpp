// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/gemm_kernel.h"

#if defined(__x86_64__)
#include "headroom_native/kernels/amx_tiles.h"
#include "headroom_native/kernels/gemm_tiles.h"

namespace headroom::native {
namespace {

/// The instructions themselves, as assembly: it needs neither options of the compiler nor attributes of
/// functions.
class AmxTiles {
 public:
  ~AmxTiles() { asm volatile("tilerelease"); }
  void set_up() {
    const TileConfig config;
    asm volatile("ldtilecfg %0" : : "m"(config));
  }
  template <int kTile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <int kTile>
  void load(const void* from, std::size_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  void store(void* to, std::size_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kSum, int kA, int kB>
  void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
  }
};

}  // namespace

GemmKernel gemm_amx() {
  GemmKernel kernel = gemm_avx512_bf16();
  kernel.multiply = TiledGemm<AmxTiles>::multiply;
  kernel.rows = TiledGemm<AmxTiles>::kSide;
  kernel.isa = "amx";
  return kernel;
}

}  // namespace headroom::native
#endif
