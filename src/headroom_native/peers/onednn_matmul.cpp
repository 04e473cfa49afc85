// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/peers/onednn_matmul.h"

#include <omp.h>

#include <map>
#include <optional>
#include <utility>

#include "headroom/workload/slice.h"
#include "headroom_native/peers/matrix_case.h"
#include "headroom_native/peers/onednn_version.h"

namespace headroom::native {
namespace {

using dnnl::memory;
using Type = memory::data_type;
using Tag = memory::format_tag;

memory::dim dim_of(std::size_t size) {
  return static_cast<memory::dim>(size);
}

template <typename T>
void* handle(const T* data) {
  return const_cast<T*>(data);
}

}  // namespace

void use_one_onednn_thread() {
  omp_set_num_threads(1);
}

OnednnCall::OnednnCall(dnnl::primitive primitive, std::vector<std::pair<int, memory>> arguments)
    : primitive_(std::move(primitive)) {
  for (auto& [index, argument] : arguments) {
    memories_.push_back(argument);
    arguments_.push_back({index, argument.get()});
  }
}

void OnednnCall::operator()(const dnnl::stream& stream) const {
  dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()),
                         arguments_.data());
}

OnednnMatmul::OnednnMatmul(ThreadPool& pool, const Layer& layer)
    : pool_(pool),
      layer_(layer),
      engine_(dnnl::engine::kind::cpu, 0),
      workers_(static_cast<std::size_t>(pool.workers())) {
  // What oneDNN does not have on this CPU it says here, where it may: a worker must not throw.
  use_one_onednn_thread();
  workers_.front().rows = slice_of(layer_.rows, 0, pool.workers());
  make(workers_.front());
  pool_.run([&](int worker, int workers) {
    use_one_onednn_thread();
    Worker& own = workers_[static_cast<std::size_t>(worker)];
    own.rows = slice_of(layer_.rows, worker, workers);
    make(own);
  });
  implementation_ = workers_.front().description.impl_info_str();
}

void OnednnMatmul::make(Worker& worker) {
  const memory::dim inputs = dim_of(layer_.columns), outputs = dim_of(worker.rows.size());
  const memory::desc source({1, inputs}, Type::bf16, Tag::ab);
  const memory::desc weights({inputs, outputs}, Type::bf16, layer_.packed ? Tag::any : Tag::ba);
  std::optional<memory::desc> bias;
  if (layer_.bias != nullptr) bias.emplace(memory::dims{1, outputs}, Type::f32, Tag::ab);
  const memory::desc target({1, outputs}, layer_.result, Tag::ab);
  worker.stream = dnnl::stream(engine_);
  worker.description = describe_matmul(engine_, source, weights, bias, target);
  worker.matmul = dnnl::matmul(worker.description);
}

std::size_t OnednnMatmul::add(const Bf16* matrix, const Bf16* x, void* y) {
  // Each on the thread that will call it: what is packed there lies in memory that its CPU touched first.
  pool_.run([&](int worker, int) {
    Worker& own = workers_[static_cast<std::size_t>(worker)];
    own.calls.push_back(call_of(own, matrix, x, y));
  });
  return workers_.front().calls.size() - 1;
}

OnednnCall OnednnMatmul::call_of(Worker& worker, const Bf16* matrix, const Bf16* x, void* y) const {
  const dnnl::matmul::primitive_desc& is = worker.description;
  const std::size_t first = worker.rows.begin;
  const std::size_t item = layer_.result == Type::f32 ? sizeof(float) : sizeof(Bf16);
  const memory::desc plain({dim_of(layer_.columns), dim_of(worker.rows.size())}, Type::bf16, Tag::ba);
  std::vector<std::pair<int, memory>> arguments{
      {DNNL_ARG_SRC, memory(is.src_desc(), engine_, handle(x))},
      {DNNL_ARG_WEIGHTS, packed(worker, memory(plain, engine_, handle(matrix + first * layer_.columns)))},
      {DNNL_ARG_DST, memory(is.dst_desc(), engine_, static_cast<std::byte*>(y) + first * item)}};
  if (layer_.bias != nullptr) {
    arguments.emplace_back(DNNL_ARG_BIAS, memory(is.bias_desc(), engine_, handle(layer_.bias + first)));
  }
  return OnednnCall(worker.matmul, std::move(arguments));
}

memory OnednnMatmul::packed(Worker& worker, memory weights) const {
  const memory::desc wanted = worker.description.weights_desc();
  if (wanted == weights.get_desc()) return weights;
  memory made(wanted, engine_);
  dnnl::reorder(weights, made).execute(worker.stream, weights, made);
  return made;
}

void OnednnMatmul::run(int worker, std::size_t number) const {
  const Worker& own = workers_[static_cast<std::size_t>(worker)];
  own.calls[number](own.stream);
}

void skip_without_onednn(State& state, const dnnl::error& error) {
  state.skip(std::string("oneDNN does not do this here: ") + error.what());
}

void measure_onednn(State& state, ThreadPool& pool, const MatrixCase& matrices, bool packed) try {
  if (matrices.rows < static_cast<std::size_t>(pool.workers())) {
    state.skip("fewer rows than threads: a thread would ask oneDNN for a matrix without rows");
  }
  std::map<const Bf16*, std::size_t> distinct;
  for (const auto& of_copy : matrices.matrices) {
    for (const Bf16* matrix : of_copy) distinct.emplace(matrix, distinct.size());
  }
  if (packed) state.require_memory(distinct.size() * matrices.rows * matrices.columns * sizeof(Bf16));
  std::vector<Bf16> y(matrices.outputs());
  OnednnMatmul matmul(pool, {.rows = matrices.rows, .columns = matrices.columns, .packed = packed});
  std::vector<std::vector<std::size_t>> numbers;
  for (const auto& of_copy : matrices.matrices) {
    numbers.emplace_back();
    for (std::size_t i = 0; i < of_copy.size(); ++i) {
      numbers.back().push_back(matmul.add(of_copy[i], matrices.x, y.data() + i * matrices.rows));
    }
  }
  state.note("isa", std::string("oneDNN ") + matmul.implementation());
  if (packed) state.note("weights", "packed ahead");
  const auto body = [&](std::size_t copy) {
    pool.run([&](int worker, int) {
      for (const std::size_t number : numbers[copy]) matmul.run(worker, number);
    });
  };
  state.verify([&] { body(0); }, std::span(y), matrices.expected, matrices.tolerance);
  state.measure(body);
} catch (const dnnl::error& error) {
  skip_without_onednn(state, error);
}

}  // namespace headroom::native
