// SPDX-License-Identifier: Apache-2.0
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/oracle.h"
#include "headroom/workload/team.h"
#include "headroom_native/kernels/gemv/gemv_kernel.h"
#include "headroom_native/kernels/thread_pool.h"
#include "headroom_native/peers/peers.h"

namespace headroom::native {
namespace {

using dnnl::memory;
using Type = memory::data_type;
using Tag = memory::format_tag;

dnnl::matmul::primitive_desc describe_matmul(const dnnl::engine& engine, const memory::desc& source,
                                             const memory::desc& weights,
                                             const std::optional<memory::desc>& bias,
                                             const memory::desc& target) {
  using dnnl::matmul;
#if DNNL_VERSION_MAJOR >= 3
  if (bias) return matmul::primitive_desc(engine, source, weights, *bias, target);
  return matmul::primitive_desc(engine, source, weights, target);
#else
  if (bias) return matmul::primitive_desc(matmul::desc(source, weights, *bias, target), engine);
  return matmul::primitive_desc(matmul::desc(source, weights, target), engine);
#endif
}

dnnl::layer_normalization_forward::primitive_desc describe_layer_norm(const dnnl::engine& engine,
                                                                      const memory::desc& values,
                                                                      float epsilon,
                                                                      dnnl::normalization_flags flags) {
  using dnnl::layer_normalization_forward;
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
  return layer_normalization_forward::primitive_desc(engine, kInference, values, values, epsilon, flags);
#else
  return layer_normalization_forward::primitive_desc(
      layer_normalization_forward::desc(kInference, values, epsilon, flags), engine);
#endif
}

/// Call in each thread first.
void use_one_onednn_thread() {
  omp_set_num_threads(1);
}

void require_rows(const State& state, std::size_t rows, const ThreadPool& pool) {
  if (rows < static_cast<std::size_t>(pool.workers()))
    state.skip("fewer rows than threads: some threads would have no rows for oneDNN");
}

/// Missing on this CPU (bf16 without AVX-512): no failure.
[[noreturn]] void skip_without_onednn(State& state, const dnnl::error& error) {
  state.skip(std::string("oneDNN does not support this case: ") + error.what());
}

memory::dim dim_of(std::size_t size) {
  return static_cast<memory::dim>(size);
}

template <typename T>
void* handle(const T* data) {
  return const_cast<T*>(data);
}

/// Uses the C interface: the C++ one allocates at each call.
class OnednnCall {
 public:
  OnednnCall(dnnl::primitive primitive, std::vector<std::pair<int, memory>> arguments)
      : primitive_(std::move(primitive)) {
    for (auto& [index, argument] : arguments) {
      memories_.push_back(argument);
      arguments_.push_back({index, argument.get()});
    }
  }
  void operator()(const dnnl::stream& stream) const {
    dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()),
                           arguments_.data());
  }

 private:
  dnnl::primitive primitive_;
  std::vector<memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// x[columns] times matrices [rows, columns], of bf16, plus an optional f32 bias, to y of bf16 or f32. Splits
/// rows over the workers.
class OnednnMatmul {
 public:
  struct Layer {
    std::size_t rows = 0, columns = 0;
    bool packed = false;  ///< copies each matrix into oneDNN's preferred layout
    Type result = Type::bf16;
    const float* bias = nullptr;  ///< [rows]; may be null
  };
  /// Throws dnnl::error if oneDNN lacks the primitive.
  OnednnMatmul(ThreadPool& pool, const Layer& layer)
      : pool_(pool),
        layer_(layer),
        engine_(dnnl::engine::kind::cpu, 0),
        workers_(static_cast<std::size_t>(pool.workers())) {
    // A worker must not throw.
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

  /// A call per worker; returns its number. Not to be called from a worker.
  std::size_t add(const Bf16* matrix, const Bf16* x, void* y) {
    // Each worker's CPU touches its packed weights first.
    pool_.run([&](int worker, int) {
      Worker& own = workers_[static_cast<std::size_t>(worker)];
      own.calls.push_back(call_of(own, matrix, x, y));
    });
    return workers_.front().calls.size() - 1;
  }
  void run(int worker, std::size_t number) const {
    const Worker& own = workers_[static_cast<std::size_t>(worker)];
    own.calls[number](own.stream);
  }
  const std::string& implementation() const { return implementation_; }

 private:
  struct Worker {
    Slice rows;
    dnnl::stream stream;
    dnnl::matmul::primitive_desc description;
    dnnl::matmul matmul;
    std::vector<OnednnCall> calls;
  };
  void make(Worker& worker) {
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
  OnednnCall call_of(Worker& worker, const Bf16* matrix, const Bf16* x, void* y) const {
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
  memory packed(Worker& worker, memory weights) const {
    const memory::desc wanted = worker.description.weights_desc();
    if (wanted == weights.get_desc()) return weights;
    memory made(wanted, engine_);
    dnnl::reorder(weights, made).execute(worker.stream, weights, made);
    return made;
  }

  ThreadPool& pool_;
  Layer layer_;
  dnnl::engine engine_;
  std::vector<Worker> workers_;
  std::string implementation_;
};

/// x and y of one type, scale and shift of f32.
OnednnCall layer_norm_call(const dnnl::engine& engine, std::size_t rows, std::size_t columns, Type type,
                           const void* x, const float* gamma, const float* beta, void* y) {
  using dnnl::layer_normalization_forward;
  const memory::desc values({static_cast<memory::dim>(rows), static_cast<memory::dim>(columns)}, type,
                            Tag::ab);
  const memory::desc parameters({static_cast<memory::dim>(columns)}, Type::f32, Tag::a);
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  return OnednnCall(layer_normalization_forward(describe_layer_norm(engine, values, kNormEpsilon, flags)),
                    {{DNNL_ARG_SRC, memory(values, engine, const_cast<void*>(x))},
                     {DNNL_ARG_DST, memory(values, engine, y)},
                     {DNNL_ARG_SCALE, memory(parameters, engine, const_cast<float*>(gamma))},
                     {DNNL_ARG_SHIFT, memory(parameters, engine, const_cast<float*>(beta))}});
}

std::vector<float> as_floats(const std::vector<Bf16>& values) {
  std::vector<float> floats;
  floats.reserve(values.size());
  for (const Bf16 value : values) floats.push_back(to_float(value));
  return floats;
}

/// f32 activations in between, like the native chain.
class OnednnMlp {
 public:
  OnednnMlp(const MlpWorkload& inputs, ThreadPool& pool, bool packed, Bf16* y)
      : pool_(pool),
        y_(y),
        up_floats_(inputs.up),
        down_floats_(inputs.down),
        hidden_(inputs.up.outputs()),
        up_(pool, {inputs.up.outputs(), inputs.x.size(), packed, Type::f32, up_floats_.bias.data()}),
        down_(pool, {inputs.x.size(), inputs.up.outputs(), packed, Type::f32, down_floats_.bias.data()}),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        up_norm_(norm_of(up_floats_)),
        down_norm_(norm_of(down_floats_)),
        round_(gemv_kernel("bf16", chosen_isa()).round) {
    for (std::size_t copy = 0; copy < inputs.up.weights.copies(); ++copy) {
      up_.add(reinterpret_cast<const Bf16*>(inputs.up.weights.copy(copy)), inputs.x.data(),
              up_floats_.sums.data());
      down_.add(reinterpret_cast<const Bf16*>(inputs.down.weights.copy(copy)), hidden_.data(),
                down_floats_.sums.data());
    }
  }

  const std::string& implementation() const { return up_.implementation(); }

  void run(std::size_t copy) {
    pool_.run([&](int worker, int) {
      up_.run(worker, copy);
      pool_.barrier();
      if (worker == 0) finish(up_norm_, up_floats_, hidden_.data());
      pool_.barrier();
      down_.run(worker, copy);
    });
    finish(down_norm_, down_floats_, y_);
  }

 private:
  struct LayerFloats {
    std::vector<float> bias, gamma, beta, sums, normal;
    explicit LayerFloats(const MlpWorkload::Layer& layer)
        : bias(as_floats(layer.bias)),
          gamma(as_floats(layer.gamma)),
          beta(as_floats(layer.beta)),
          sums(bias.size()),
          normal(bias.size()) {}
  };

  OnednnCall norm_of(LayerFloats& layer) const {
    use_one_onednn_thread();
    return layer_norm_call(engine_, 1, layer.sums.size(), Type::f32, layer.sums.data(), layer.gamma.data(),
                           layer.beta.data(), layer.normal.data());
  }
  void finish(const OnednnCall& norm, const LayerFloats& layer, Bf16* y) const {
    norm(stream_);
    round_(layer.normal.data(), layer.normal.size(), y);
  }

  ThreadPool& pool_;
  Bf16* y_;
  LayerFloats up_floats_, down_floats_;
  std::vector<Bf16> hidden_;
  OnednnMatmul up_, down_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  OnednnCall up_norm_, down_norm_;
  void (*round_)(const float*, std::size_t, Bf16*);
};

}  // namespace

void measure_onednn(State& state, ThreadPool& pool, const MatrixCase& matrices, bool packed) try {
  require_rows(state, matrices.rows, pool);
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

void measure_onednn_layer_norm(State& state, ThreadPool& pool, LayerNormWorkload& inputs) try {
  require_rows(state, inputs.rows, pool);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  // A worker must not throw.
  use_one_onednn_thread();
  layer_norm_call(engine, 1, inputs.columns, Type::bf16, inputs.x.copy(0), inputs.gamma.data(),
                  inputs.beta.data(), inputs.y.copy(0));
  const auto workers = static_cast<std::size_t>(pool.workers());
  std::vector<std::vector<OnednnCall>> calls(workers);  // by worker, then by copy
  std::vector<dnnl::stream> streams(workers);
  pool.run([&](int worker, int count) {
    use_one_onednn_thread();
    streams[static_cast<std::size_t>(worker)] = dnnl::stream(engine);
    const Slice part = slice_of(inputs.rows, worker, count);
    const std::size_t first = part.begin * inputs.columns;
    for (std::size_t copy = 0; copy < inputs.x.copies(); ++copy) {
      calls[static_cast<std::size_t>(worker)].push_back(
          layer_norm_call(engine, part.size(), inputs.columns, Type::bf16,
                          reinterpret_cast<const Bf16*>(inputs.x.copy(copy)) + first, inputs.gamma.data(),
                          inputs.beta.data(), reinterpret_cast<Bf16*>(inputs.y.copy(copy)) + first));
    }
  });
  state.note("isa", "oneDNN");
  const auto body = [&](std::size_t copy) {
    pool.run([&](int worker, int) {
      const auto own = static_cast<std::size_t>(worker);
      calls[own][copy](streams[own]);
    });
  };
  state.verify([&] { body(0); }, inputs.y.first<Bf16>(), inputs.expected(team_of(pool)),
               LayerNormWorkload::kTolerance);
  state.measure(body);
} catch (const dnnl::error& error) {
  skip_without_onednn(state, error);
}

void measure_onednn_mlp(State& state, ThreadPool& pool, const MlpWorkload& inputs, bool packed) try {
  require_rows(state, std::min(inputs.x.size(), inputs.up.outputs()), pool);
  if (packed) state.require_memory(inputs.weight_bytes() * inputs.up.weights.copies());
  std::vector<Bf16> y(inputs.x.size());
  OnednnMlp mlp(inputs, pool, packed, y.data());
  state.note("isa", "oneDNN " + mlp.implementation());
  if (packed) state.note("weights", "packed ahead");
  state.verify([&] { mlp.run(0); }, std::span(y), inputs.expected, MlpWorkload::kTolerance);
  state.measure([&](std::size_t copy) { mlp.run(copy); });
} catch (const dnnl::error& error) {
  skip_without_onednn(state, error);
}

}  // namespace headroom::native
