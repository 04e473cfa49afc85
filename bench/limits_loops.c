// SPDX-License-Identifier: Apache-2.0
// Loops that share no code with headroom's limits, for bench/limits_other_tools.py: STREAM's four,
// auto-vectorised, and reads, stores, copies and arithmetic chains by intrinsics.
//
//   limits_loops LOOP BYTES THREADS MILLISECONDS      prints GB/s or GFLOP/s
//
// Exits with 3 if the CPU lacks the instructions.
#define _GNU_SOURCE
#include <immintrin.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef __AVX512F__
typedef __m512i Wide;
#define LOAD(p) _mm512_load_si512((const void*)(p))
#define STORE(p, v) _mm512_store_si512((void*)(p), v)
#define STREAM(p, v) _mm512_stream_si512((void*)(p), v)
#define OR(a, b) _mm512_or_si512(a, b)
#define BYTES(c) _mm512_set1_epi8(c)
#else
typedef __m256i Wide;
#define LOAD(p) _mm256_load_si256((const Wide*)(p))
#define STORE(p, v) _mm256_store_si256((Wide*)(p), v)
#define STREAM(p, v) _mm256_stream_si256((Wide*)(p), v)
#define OR(a, b) _mm256_or_si256(a, b)
#define BYTES(c) _mm256_set1_epi8(c)
#endif
enum { kWide = sizeof(Wide), kStep = 8 * kWide };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/// One thread's arrays of `count` doubles; null if the loop does not use them.
struct Part {
  double *a, *b, *c;
  size_t count;
};

static void stream_copy(struct Part p) {
  for (size_t i = 0; i < p.count; ++i) p.c[i] = p.a[i];
}
static void stream_scale(struct Part p) {
  for (size_t i = 0; i < p.count; ++i) p.b[i] = 3.0 * p.c[i];
}
static void stream_add(struct Part p) {
  for (size_t i = 0; i < p.count; ++i) p.c[i] = p.a[i] + p.b[i];
}
static void stream_triad(struct Part p) {
  for (size_t i = 0; i < p.count; ++i) p.a[i] = p.b[i] + 3.0 * p.c[i];
}
static void read_wide(struct Part p) {
  const char* from = (const char*)p.a;
  Wide s0 = BYTES(0), s1 = s0, s2 = s0, s3 = s0;
  for (size_t i = 0; i + kStep <= p.count * 8; i += kStep) {
    s0 = OR(s0, OR(LOAD(from + i), LOAD(from + i + 4 * kWide)));
    s1 = OR(s1, OR(LOAD(from + i + kWide), LOAD(from + i + 5 * kWide)));
    s2 = OR(s2, OR(LOAD(from + i + 2 * kWide), LOAD(from + i + 6 * kWide)));
    s3 = OR(s3, OR(LOAD(from + i + 3 * kWide), LOAD(from + i + 7 * kWide)));
  }
  s0 = OR(OR(s0, s1), OR(s2, s3));
  asm volatile("" ::"v"(s0));
}
#define WRITE(name, store)                                                  \
  static void name(struct Part p) {                                         \
    const Wide value = BYTES(1);                                            \
    for (size_t i = 0; i + kStep <= p.count * 8; i += kStep)                \
      for (int k = 0; k < 8; ++k) store((char*)p.a + i + k * kWide, value); \
    _mm_sfence();                                                           \
  }
WRITE(write_plain, STORE)
WRITE(write_nontemporal, STREAM)
#define COPY(name, store)                                                                                    \
  static void name(struct Part p) {                                                                          \
    for (size_t i = 0; i + kStep <= p.count * 8; i += kStep)                                                 \
      for (int k = 0; k < 8; ++k) store((char*)p.c + i + k * kWide, LOAD((const char*)p.a + i + k * kWide)); \
    _mm_sfence();                                                                                            \
  }
COPY(copy_plain, STORE)
COPY(copy_nontemporal, STREAM)
static void copy_memcpy(struct Part p) {
  memcpy(p.c, p.a, p.count * 8);
}
static void zero_rep_stosb(struct Part p) {
  void* to = p.a;
  size_t count = p.count * 8;
  asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0) : "memory");
}
static void zero_clzero(struct Part p) {
#ifdef __CLZERO__
  for (size_t i = 0; i + 64 <= p.count * 8; i += 64) _mm_clzero((char*)p.a + i);
  _mm_sfence();
#else
  (void)p;
  exit(3);
#endif
}

/// Twelve chains hide a latency of up to six cycles at two operations a cycle. An array of them would be in
/// memory.
enum { kChains = 12, kTurns = 4096 };
#define EACH(turn)                                                                                    \
  turn(s0) turn(s1) turn(s2) turn(s3) turn(s4) turn(s5) turn(s6) turn(s7) turn(s8) turn(s9) turn(s10) \
      turn(s11)
#define KEEP(s) asm volatile("" : "+v"(s));
#define CHAINS(name, type, zero, turn)                                                               \
  static void name(struct Part p) {                                                                  \
    type s0 = zero, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0, s9 = s0, \
         s10 = s0, s11 = s0;                                                                         \
    (void)p;                                                                                         \
    for (int i = 0; i < kTurns; ++i) {                                                               \
      EACH(KEEP) EACH(turn)                                                                          \
    }                                                                                                \
    EACH(KEEP)                                                                                       \
  }
#ifdef __AVX512F__
#define HALF_PS _mm512_set1_ps(0.5F)
#define HALF_PD _mm512_set1_pd(0.5)
#define FMA_PS(s) s = _mm512_fmadd_ps(s, HALF_PS, HALF_PS);
#define FMA_PD(s) s = _mm512_fmadd_pd(s, HALF_PD, HALF_PD);
CHAINS(peak_f32, __m512, HALF_PS, FMA_PS)
CHAINS(peak_f64, __m512d, HALF_PD, FMA_PD)
#else
#define HALF_PS _mm256_set1_ps(0.5F)
#define HALF_PD _mm256_set1_pd(0.5)
#define FMA_PS(s) s = _mm256_fmadd_ps(s, HALF_PS, HALF_PS);
#define FMA_PD(s) s = _mm256_fmadd_pd(s, HALF_PD, HALF_PD);
CHAINS(peak_f32, __m256, HALF_PS, FMA_PS)
CHAINS(peak_f64, __m256d, HALF_PD, FMA_PD)
#endif
#ifdef __AVX512VNNI__
#define DPBUSD(s) s = _mm512_dpbusd_epi32(s, BYTES(1), BYTES(2));
CHAINS(peak_vpdpbusd, __m512i, BYTES(0), DPBUSD)
#endif
#ifdef __AVX512BF16__
#define DPBF16(s) s = _mm512_dpbf16_ps(s, (__m512bh)BYTES(0), (__m512bh)BYTES(0));
CHAINS(peak_vdpbf16ps, __m512, HALF_PS, DPBF16)
#endif

/// `arrays`: number of arrays that share the bytes; `moved`: how many of them count, or arithmetic operations
/// a turn.
struct Loop {
  const char* name;
  void (*run)(struct Part);
  int arrays, moved;
  double operations;
};
#define PEAK(lanes) 0, 0, 2.0 * (lanes)*kChains* kTurns
static const struct Loop kLoops[] = {
    {"stream_copy", stream_copy, 2, 2, 0},
    {"stream_scale", stream_scale, 2, 2, 0},
    {"stream_add", stream_add, 3, 3, 0},
    {"stream_triad", stream_triad, 3, 3, 0},
    {"read_wide", read_wide, 1, 1, 0},
    {"write_plain", write_plain, 1, 1, 0},
    {"write_nontemporal", write_nontemporal, 1, 1, 0},
    {"copy_plain", copy_plain, 2, 2, 0},
    {"copy_nontemporal", copy_nontemporal, 2, 2, 0},
    {"copy_memcpy", copy_memcpy, 2, 2, 0},
    {"zero_rep_stosb", zero_rep_stosb, 1, 1, 0},
    {"zero_clzero", zero_clzero, 1, 1, 0},
    {"peak_f32", peak_f32, PEAK(kWide / 4)},
    {"peak_f64", peak_f64, PEAK(kWide / 8)},
#ifdef __AVX512VNNI__
    {"peak_vpdpbusd", peak_vpdpbusd, PEAK(64)},
#endif
#ifdef __AVX512BF16__
    {"peak_vdpbf16ps", peak_vdpbf16ps, PEAK(32)},
#endif
};

static double* array_of(size_t bytes) {
  const size_t huge = 2 << 20, size = (bytes + huge - 1) / huge * huge;
  double* memory = aligned_alloc(huge, size);
  if (memory == NULL) exit(1);
  madvise(memory, size, MADV_HUGEPAGE);
  memset(memory, 0, size);  // first touch by the thread that uses it
  return memory;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

enum { kMostSamples = 100000 };
static double samples[kMostSamples];

/// Median rate of 5 ms samples that all threads start and end together, so that preemption affects few
/// samples.
int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const struct Loop* loop = NULL;
  for (size_t i = 0; i < sizeof kLoops / sizeof *kLoops; ++i)
    if (strcmp(kLoops[i].name, argv[1]) == 0) loop = &kLoops[i];
  if (loop == NULL) return 3;
  const int threads = atoi(argv[3]);
  const size_t own =
      strtoull(argv[2], NULL, 10) / (size_t)threads / (size_t)(loop->arrays ? loop->arrays : 1);
  const size_t count = own / kStep * kStep / 8;
  const double each = loop->arrays > 0 ? 8.0 * (double)count * loop->moved : loop->operations;
  const double seconds = atof(argv[4]) / 1e3, sample = 5e-3;
  int taken = 0, calls = 1, over = 0;
  double start = 0, begun = 0;
#pragma omp parallel num_threads(threads)
  {
    struct Part part = {NULL, NULL, NULL, count};
    if (loop->arrays > 0) part.a = array_of(own);
    if (loop->arrays > 2 || loop->run == stream_scale) part.b = array_of(own);
    if (loop->arrays > 1) part.c = array_of(own);
    loop->run(part);
    while (!over) {
#pragma omp barrier
#pragma omp single
      start = now();
      for (int i = 0; i < calls; ++i) loop->run(part);
#pragma omp barrier
#pragma omp single
      {
        const double stop = now(), took = stop - start;
        if (begun == 0 && took < sample) {
          calls *= 2;
        } else {
          if (begun == 0) begun = start;
          samples[taken++] = each * calls * threads / took / 1e9;
          over = taken == kMostSamples || stop - begun > seconds;
        }
      }
    }
  }
  qsort(samples, (size_t)taken, sizeof *samples, by_size);
  printf("%.6g\n", samples[taken / 2]);
  return 0;
}
