// SPDX-License-Identifier: Apache-2.0
// A function of a shared library as a backend next to headroom's: headroom run gemv --peer
// libpeer.so:plain_gemv
#include <string.h>

#include "headroom/experiment/peer.h"

static float to_float(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

int plain_gemv(const struct headroom_peer_call* call) {
  if (call->operation != HEADROOM_PEER_GEMV || call->dtype != HEADROOM_PEER_BF16) return HEADROOM_PEER_CANNOT;
  const uint16_t* weights = call->weights;
  for (size_t row = 0; row < call->rows; ++row, weights += call->columns) {
    float sum = 0;
    for (size_t k = 0; k < call->columns; ++k) sum += to_float(weights[k]) * to_float(call->x[k]);
    call->y[row] = to_bf16(sum);
  }
  return HEADROOM_PEER_DONE;
}
