// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/slice.h"
#include "headroom_native/kernels/thread_pool.h"

namespace headroom::native {

/// A primitive with its arguments. Called through the C interface: the C++ one allocates at each call.
class OnednnCall {
 public:
  OnednnCall(dnnl::primitive primitive, std::vector<std::pair<int, dnnl::memory>> arguments);
  void operator()(const dnnl::stream& stream) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// Within its life oneDNN uses one thread in this thread, both when primitives are made and when they are
/// called.
void use_one_onednn_thread();

/// Skips the case: what oneDNN does not have on this CPU (products of bf16 without AVX-512) is no failure.
[[noreturn]] void skip_without_onednn(State& state, const dnnl::error& error);

/// One layer by oneDNN: x[columns] of bf16 times matrices of bf16 (as [rows, columns]), optionally plus a
/// bias of f32, to y of bf16 or f32. The rows of each matrix are split over the workers.
class OnednnMatmul {
 public:
  struct Layer {
    std::size_t rows = 0, columns = 0;
    bool packed = false;  ///< each matrix is copied into the layout that oneDNN asks for
    dnnl::memory::data_type result = dnnl::memory::data_type::bf16;
    const float* bias = nullptr;  ///< [rows]; null: none
  };
  /// Throws dnnl::error where oneDNN cannot do this.
  OnednnMatmul(ThreadPool& pool, const Layer& layer);

  /// Makes the call of each worker for its rows of `matrix`; returns its number. Called before anything is
  /// timed, not from a worker.
  std::size_t add(const Bf16* matrix, const Bf16* x, void* y);
  /// The call `number` of `worker`, on its thread.
  void run(int worker, std::size_t number) const;
  const std::string& implementation() const { return implementation_; }

 private:
  struct Worker {
    Slice rows;
    dnnl::stream stream;
    dnnl::matmul::primitive_desc description;
    dnnl::matmul matmul;
    std::vector<OnednnCall> calls;
  };
  void make(Worker& worker);
  OnednnCall call_of(Worker& worker, const Bf16* matrix, const Bf16* x, void* y) const;
  dnnl::memory packed(Worker& worker, dnnl::memory weights) const;

  ThreadPool& pool_;
  Layer layer_;
  dnnl::engine engine_;
  std::vector<Worker> workers_;
  std::string implementation_;
};

}  // namespace headroom::native
