// SPDX-License-Identifier: Apache-2.0
// ggml's inner product row by row, as mul_mat does for one column of bf16. (Its 8-bit types also round x to 8
// bits.)
#include <ggml-cpu.h>
#include <ggml.h>

#include "headroom/experiment/peer.h"
#include "rounding.h"

void* ggml_gemv_prepare(const struct headroom_peer_call* call) {
  if (call->operation != HEADROOM_PEER_GEMV || call->dtype != HEADROOM_PEER_BF16) return NULL;
  ggml_cpu_init();
  return (void*)ggml_get_type_traits_cpu(GGML_TYPE_BF16);
}

int ggml_gemv(const struct headroom_peer_call* call) {
  const struct ggml_type_traits_cpu* traits = call->prepared;
  const uint16_t* weights = call->weights;
  for (size_t row = 0; row < call->rows; ++row, weights += call->columns) {
    float sum = 0;
    traits->vec_dot((int)call->columns, &sum, 0, weights, 0, call->x, 0, 1);
    call->y[row] = to_bf16(sum);
  }
  return HEADROOM_PEER_DONE;
}
