// SPDX-License-Identifier: Apache-2.0
// Plain C, for shared libraries that `headroom run gemv --peer libmine.so:gemv_bf16` measures beside the
// native kernels, on the same memory, in the same rounds (docs/peers.md). Needs nothing of headroom to link.
#pragma once

#include <stddef.h>  // NOLINT: C
#include <stdint.h>  // NOLINT: C

#ifdef __cplusplus
extern "C" {
#endif

/// What is asked for: the answer in float64 is what y is held against.
enum headroom_peer_operation {
  HEADROOM_PEER_GEMV = 1,       ///< y[row] = sum over k of weights[row, k] * x[k]
  HEADROOM_PEER_LAYER_NORM = 2  ///< y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, of each row
};

/// Of the weights, or of x where there are none. bf16 is the upper half of a float's bits.
enum headroom_peer_dtype { HEADROOM_PEER_BF16 = 1, HEADROOM_PEER_INT8 = 2 };

/// What a function returns. Anything else fails the case, with the number in its reason.
enum headroom_peer_answer {
  HEADROOM_PEER_DONE = 0,
  HEADROOM_PEER_CANNOT = 1  ///< not this operation, dtype or shape: the case is skipped
};

/// One call. Matrices are row-major without gaps; all memory is headroom's and stays where it is until the
/// case ends. x and y are bf16, also where the weights are int8 (which have no scale: y = W x).
struct headroom_peer_call {
  size_t size;        ///< of this struct, in bytes: later versions add members behind the last
  int32_t operation;  ///< enum headroom_peer_operation
  int32_t dtype;      ///< enum headroom_peer_dtype
  int32_t thread;   ///< which of `threads` calls this, from 0: each is pinned to a CPU, with rows of its own
  int32_t threads;  ///< with threads=own: how many threads to use, of which this call starts the others
  size_t rows;      ///< of this call: values of y; of layer_norm rows of x and y
  size_t columns;   ///< values of x; of layer_norm values of a row
  const void* weights;  ///< gemv: weights[rows, columns]
  const uint16_t* x;    ///< gemv: x[columns]; layer_norm: x[rows, columns]
  uint16_t* y;          ///< gemv: y[rows]; layer_norm: y[rows, columns]; while preparing null
  const float* gamma;   ///< layer_norm: gamma[columns]
  const float* beta;    ///< layer_norm: beta[columns]
  float epsilon;        ///< layer_norm: added to the variance
  void* prepared;       ///< what SYMBOL_prepare returned for these rows of these weights; else null
};

/// SYMBOL: computes y. Called from several threads at once, each with rows of its own.
typedef int headroom_peer_function(const struct headroom_peer_call* call);
/// SYMBOL_prepare, where the library exports it: called once, untimed, for each rows of each weights that
/// SYMBOL will be called with, on the thread that will: packs weights, makes a plan. Null: it cannot, and the
/// case is skipped.
typedef void* headroom_peer_prepare_function(const struct headroom_peer_call* call);
/// SYMBOL_release, where the library exports it: what was prepared is not needed any more.
typedef void headroom_peer_release_function(void* prepared);

#ifdef __cplusplus
}
#endif
