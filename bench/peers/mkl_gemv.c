// SPDX-License-Identifier: Apache-2.0
// MKL's bf16 product with f32 sums, on one thread. MKL has none of int8 with bf16.
#include <mkl_cblas.h>
#include <mkl_service.h>
#include <stdlib.h>

#include "headroom/experiment/peer.h"
#include "rounding.h"

/// Unrounded sums.
void* mkl_gemv_prepare(const struct headroom_peer_call* call) {
  if (call->operation != HEADROOM_PEER_GEMV || call->dtype != HEADROOM_PEER_BF16) return NULL;
  mkl_set_threading_layer(MKL_THREADING_SEQUENTIAL);
  return malloc(call->rows * sizeof(float));
}

void mkl_gemv_release(void* prepared) {
  free(prepared);
}

int mkl_gemv(const struct headroom_peer_call* call) {
  float* sums = call->prepared;
  const MKL_INT rows = (MKL_INT)call->rows, columns = (MKL_INT)call->columns;
  cblas_gemm_bf16bf16f32(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, 1, columns, 1, call->weights,
                         columns, call->x, 1, 0, sums, 1);
  for (size_t row = 0; row < call->rows; ++row) call->y[row] = to_bf16(sums[row]);
  return HEADROOM_PEER_DONE;
}
