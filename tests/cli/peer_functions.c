// SPDX-License-Identifier: Apache-2.0
// Peer functions: good ones, and one per way to be bad (peers_test.py).
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

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

static float weight(const struct headroom_peer_call* call, size_t index) {
  if (call->dtype == HEADROOM_PEER_INT8) return ((const int8_t*)call->weights)[index];
  return to_float(((const uint16_t*)call->weights)[index]);
}

static void gemv(const struct headroom_peer_call* call) {
  for (size_t row = 0; row < call->rows; ++row) {
    double sum = 0;
    for (size_t k = 0; k < call->columns; ++k)
      sum += (double)weight(call, row * call->columns + k) * to_float(call->x[k]);
    call->y[row] = to_bf16((float)sum);
  }
}

static void layer_norm(const struct headroom_peer_call* call) {
  for (size_t row = 0; row < call->rows; ++row) {
    const uint16_t* x = call->x + row * call->columns;
    double sum = 0, squares = 0;
    for (size_t k = 0; k < call->columns; ++k) sum += to_float(x[k]);
    const double mean = sum / (double)call->columns;
    for (size_t k = 0; k < call->columns; ++k) squares += (to_float(x[k]) - mean) * (to_float(x[k]) - mean);
    const double factor = 1 / sqrt(squares / (double)call->columns + call->epsilon);
    for (size_t k = 0; k < call->columns; ++k) {
      const double value = (to_float(x[k]) - mean) * factor * call->gamma[k] + call->beta[k];
      call->y[row * call->columns + k] = to_bf16((float)value);
    }
  }
}

int good(const struct headroom_peer_call* call) {
  if (call->size < sizeof *call) return 7;
  if (call->operation == HEADROOM_PEER_GEMV) {
    gemv(call);
  } else if (call->operation == HEADROOM_PEER_LAYER_NORM) {
    layer_norm(call);
  } else {
    return HEADROOM_PEER_CANNOT;
  }
  return HEADROOM_PEER_DONE;
}

int bf16_only(const struct headroom_peer_call* call) {
  return call->dtype == HEADROOM_PEER_BF16 ? good(call) : HEADROOM_PEER_CANNOT;
}

/// Takes the work of all threads in one call.
int whole(const struct headroom_peer_call* call) {
  return call->thread == 0 && call->threads == 2 && call->rows == 64 ? good(call) : 8;
}

/// Prepared weights as floats; a double or foreign release ends the process.
int packed(const struct headroom_peer_call* call) {
  const float* weights = call->prepared;
  for (size_t row = 0; row < call->rows; ++row) {
    double sum = 0;
    for (size_t k = 0; k < call->columns; ++k)
      sum += (double)weights[row * call->columns + k] * to_float(call->x[k]);
    call->y[row] = to_bf16((float)sum);
  }
  return HEADROOM_PEER_DONE;
}

void* packed_prepare(const struct headroom_peer_call* call) {
  if (call->operation != HEADROOM_PEER_GEMV || call->y != NULL) return NULL;
  const size_t count = call->rows * call->columns;
  float* weights = malloc(count * sizeof *weights);
  for (size_t i = 0; weights != NULL && i < count; ++i) weights[i] = weight(call, i);
  return weights;
}

void packed_release(void* prepared) {
  free(prepared);
}

int lies(const struct headroom_peer_call* call) {
  gemv(call);
  call->y[call->rows / 2] = to_bf16(to_float(call->y[call->rows / 2]) * 1.5F + 1);
  return HEADROOM_PEER_DONE;
}

int crashes(const struct headroom_peer_call* call) {
  *(volatile int*)0 = (int)call->rows;  // NOLINT: this is what it is for
  return HEADROOM_PEER_DONE;
}

int hangs(const struct headroom_peer_call* call) {
  for (volatile size_t i = 0; i <= call->rows; i = 0) {
  }
  return HEADROOM_PEER_DONE;
}

int fails(const struct headroom_peer_call* call) {
  return call->rows > 0 ? 42 : HEADROOM_PEER_DONE;
}

/// Right, but writes two values past its last row.
int writes_behind(const struct headroom_peer_call* call) {
  gemv(call);
  call->y[call->rows] = call->y[call->rows + 1] = 0;
  return HEADROOM_PEER_DONE;
}

int writes_before(const struct headroom_peer_call* call) {
  gemv(call);
  call->y[-8] = 0;
  return HEADROOM_PEER_DONE;
}

/// Right when verified, later out of bounds.
int writes_later(const struct headroom_peer_call* call) {
  static int calls = 0;
  gemv(call);
  if (++calls > 3) call->y[call->rows + 3] = 0;
  return HEADROOM_PEER_DONE;
}

static _Thread_local int calls_of_thread = 0;

/// Computes only when verified before the samples.
int stops(const struct headroom_peer_call* call) {
  return calls_of_thread++ == 0 ? good(call) : HEADROOM_PEER_DONE;
}

int stops_later(const struct headroom_peer_call* call) {
  return calls_of_thread++ < 20 ? good(call) : HEADROOM_PEER_DONE;
}

/// Stops in every process but the first, which makes the folder PEER_MARK.
int stops_in_the_second_process(const struct headroom_peer_call* call) {
  static int process = 0;
  if (process == 0) process = mkdir(getenv("PEER_MARK"), 0700) == 0 ? 1 : 2;
  return process == 1 ? good(call) : stops(call);
}

/// Right within the tolerance, never the same twice.
int noisy(const struct headroom_peer_call* call) {
  static _Thread_local uint32_t random = 1;
  const int answer = good(call);
  for (size_t row = 0; row < call->rows; ++row) {
    random = random * 1664525 + 1013904223;
    if (fabsf(to_float(call->y[row])) < 4) call->y[row] ^= (uint16_t)(random >> 31);
  }
  return answer;
}

int rounds_up(const struct headroom_peer_call* call) {
  const int answer = good(call);
  fesetround(FE_UPWARD);
  return answer;
}

int flushes_to_zero(const struct headroom_peer_call* call) {
  const int answer = good(call);
#if defined(__x86_64__)
  uint32_t control;
  __asm__ volatile("stmxcsr %0" : "=m"(control));
  control |= 0x8040;
  __asm__ volatile("ldmxcsr %0" : : "m"(control));
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" : : "r"(control | 0x1000000));
#endif
  return answer;
}

/// DONE only where rounding and small numbers are those of a new thread.
int needs_defaults(const struct headroom_peer_call* call) {
  volatile float smallest = 1.2e-38F;
  if (fegetround() != FE_TONEAREST || smallest / 2 == 0) return 9;
  return good(call);
}

int blocks_signals(const struct headroom_peer_call* call) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  return good(call);
}

int lowers_its_priority(const struct headroom_peer_call* call) {
  setpriority(PRIO_PROCESS, 0, 19);
  return good(call);
}
