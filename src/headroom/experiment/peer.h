// SPDX-License-Identifier: Apache-2.0
// Plain C, for shared libraries that `headroom run gemv --peer libmine.so:gemv_bf16` measures in the same
// rounds and memory as the native kernels (docs/how-to/external-kernels.md). Needs no headroom library to
// link.
#pragma once

#include <stddef.h>  // NOLINT: C
#include <stdint.h>  // NOLINT: C

#ifdef __cplusplus
extern "C" {
#endif

/// Requested operation. headroom compares y with a float64 reference.
enum headroom_peer_operation {
  HEADROOM_PEER_GEMV = 1,       ///< y[row] = sum over k of weights[row, k] * x[k]
  HEADROOM_PEER_LAYER_NORM = 2  ///< y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, per row
};

/// Type of the weights, or of x without weights. bf16 is the upper half of a float's bits.
enum headroom_peer_dtype { HEADROOM_PEER_BF16 = 1, HEADROOM_PEER_INT8 = 2 };

/// Return value. Any other number fails the case and appears in the reason.
enum headroom_peer_answer {
  HEADROOM_PEER_DONE = 0,
  HEADROOM_PEER_CANNOT = 1  ///< unsupported operation, dtype or shape: the case is skipped
};

/// One call. Matrices are row-major without gaps. headroom owns all memory; it stays valid and in place until
/// the case ends. x and y are bf16, even with int8 weights (which have no scale: y = W x).
struct headroom_peer_call {  // NOLINT(readability-identifier-naming): as in C
  size_t size;               ///< of this struct, in bytes: later versions add members at the end
  int32_t operation;
  int32_t dtype;
  int32_t thread;       ///< calling thread, from 0 to `threads` - 1: pinned to a CPU, with separate rows
  int32_t threads;      ///< with threads=own: number of threads to use; this call starts the others
  size_t rows;          ///< of this call: values of y; for layer_norm rows of x and y
  size_t columns;       ///< values of x; for layer_norm values of a row
  const void* weights;  ///< gemv: weights[rows, columns]
  const uint16_t* x;    ///< gemv: x[columns]; layer_norm: x[rows, columns]
  uint16_t* y;          ///< gemv: y[rows]; layer_norm: y[rows, columns]; null in SYMBOL_prepare
  const float* gamma;   ///< [columns]
  const float* beta;    ///< [columns]
  float epsilon;        ///< layer_norm: added to the variance
  void* prepared;       ///< result of SYMBOL_prepare for these rows of these weights; else null
};

/// SYMBOL: computes y. Called from several threads at once, each with separate rows.
typedef int headroom_peer_function(const struct headroom_peer_call* call);
/// SYMBOL_prepare (optional): packs weights or makes a plan. Called once, untimed, for each part of the
/// weights that SYMBOL will be called with, on the same thread. Returning null skips the case.
typedef void* headroom_peer_prepare_function(const struct headroom_peer_call* call);
/// SYMBOL_release (optional): frees the result of SYMBOL_prepare.
typedef void headroom_peer_release_function(void* prepared);

#ifdef __cplusplus
}
#endif
