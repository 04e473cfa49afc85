// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/amx_tiles.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace headroom::native {

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

}  // namespace headroom::native

#else

namespace headroom::native {
bool cpu_has_tiles(std::string_view) {
  return false;
}
bool permits_tiles() {
  return false;
}
}  // namespace headroom::native

#endif
