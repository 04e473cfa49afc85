// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "headroom/experiment/buffer.h"
#include "headroom/workload/team.h"
#include "headroom_native/kernels/gemv/gemv_kernel.h"
#include "headroom_native/peers/peers.h"
// Types and constants only: the library starts threads when loaded.
#include <cblas.h>

namespace headroom::native {
namespace {

using Sgemv = decltype(&cblas_sgemv);

/// Null if not installed, with the reason in `problem`.
Sgemv load_sgemv(std::string& problem) {
  // Read at load time; idle library threads would spin.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void* library = ::dlopen(HEADROOM_OPENBLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : ::dlsym(library, "cblas_sgemv");
  if (function == nullptr) problem = ::dlerror();
  return reinterpret_cast<Sgemv>(function);
}

/// Each row is written by the worker that will read it.
class FloatMatrices {
 public:
  FloatMatrices(ThreadPool& pool, const MatrixCase& matrices) : size_(matrices.rows * matrices.columns) {
    for (const auto& of_copy : matrices.matrices) {
      for (const Bf16* matrix : of_copy) index_.emplace(matrix, index_.size());
    }
    memory_ = Buffer(index_.size() * size_ * sizeof(float));
    pool.run([&](int worker, int workers) {
      const Slice rows = slice_of(matrices.rows, worker, workers);
      for (const auto& [matrix, index] : index_) {
        float* to = memory_.as<float>().data() + index * size_;
        for (std::size_t i = rows.begin * matrices.columns; i < rows.end * matrices.columns; ++i) {
          to[i] = to_float(matrix[i]);
        }
      }
    });
  }
  const float* of(const Bf16* matrix) const { return memory_.as<float>().data() + index_.at(matrix) * size_; }
  std::size_t count() const { return index_.size(); }

 private:
  std::size_t size_;
  std::map<const Bf16*, std::size_t> index_;
  Buffer memory_;
};

std::size_t float_bytes(const MatrixCase& matrices) {
  return matrices.rows * matrices.columns * sizeof(float);
}

/// The same sums over weights of twice the bytes.
void describe(State& state, const MatrixCase& matrices) {
  const auto count = static_cast<double>(matrices.matrices.front().size());
  const auto bytes = static_cast<double>(float_bytes(matrices)) * count;
  state.work({.flops = bytes / 2, .bytes = bytes, .dtype = "f32"});
  state.note("isa", "OpenBLAS sgemv");
  state.note("weights", "f32, converted ahead: GB/s count twice the bytes of bf16");
}

}  // namespace

void measure_openblas(State& state, ThreadPool& pool, const MatrixCase& matrices) {
  std::string problem;
  const Sgemv sgemv = load_sgemv(problem);
  if (sgemv == nullptr) state.skip("cannot load OpenBLAS: " + problem);
  std::size_t most = 0;
  for (const auto& of_copy : matrices.matrices) most += of_copy.size();
  state.require_memory(std::min(most, std::size_t{8} * matrices.matrices.size()) * float_bytes(matrices));
  const FloatMatrices floats(pool, matrices);
  std::vector<std::vector<const float*>> weights;
  for (const auto& of_copy : matrices.matrices) {
    weights.emplace_back();
    for (const Bf16* matrix : of_copy) weights.back().push_back(floats.of(matrix));
  }
  describe(state, matrices);
  const auto round = gemv_kernel("bf16", chosen_isa()).round;
  const std::size_t rows = matrices.rows, columns = matrices.columns;
  std::vector<std::vector<float>> x(static_cast<std::size_t>(pool.workers()), std::vector<float>(columns));
  std::vector<float> sums(matrices.outputs());
  std::vector<Bf16> y(matrices.outputs());
  const auto body = [&](std::size_t copy) {
    pool.run([&](int worker, int workers) {
      std::vector<float>& own_x = x[static_cast<std::size_t>(worker)];
      for (std::size_t k = 0; k < columns; ++k) own_x[k] = to_float(matrices.x[k]);
      const Slice part = slice_of(rows, worker, workers);
      for (std::size_t i = 0; i < weights[copy].size(); ++i) {
        const std::size_t first = i * rows + part.begin;
        sgemv(CblasRowMajor, CblasNoTrans, static_cast<int>(part.size()), static_cast<int>(columns), 1.0F,
              weights[copy][i] + part.begin * columns, static_cast<int>(columns), own_x.data(), 1, 0.0F,
              sums.data() + first, 1);
        round(sums.data() + first, part.size(), y.data() + first);
      }
    });
  };
  state.verify([&] { body(0); }, std::span(y), matrices.expected, matrices.tolerance);
  state.measure(body);
}

}  // namespace headroom::native
