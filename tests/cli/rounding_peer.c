// SPDX-License-Identifier: Apache-2.0
// Changes the rounding mode when it is loaded, as a library linked with -ffast-math turns on flush to zero.
#include "peer_functions.c"  // NOLINT: the same functions

__attribute__((constructor)) static void round_up(void) {
  fesetround(FE_UPWARD);
}
