// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/peers/onednn_norm.h"

#include <algorithm>

#include "headroom/workload/oracle.h"
#include "headroom/workload/slice.h"
#include "headroom_native/kernels/gemv_kernel.h"
#include "headroom_native/kernels/pool_team.h"
#include "headroom_native/peers/onednn_matmul.h"
#include "headroom_native/peers/onednn_version.h"

namespace headroom::native {
namespace {

using dnnl::memory;
using Type = memory::data_type;
using Tag = memory::format_tag;

/// LayerNorm of `rows` rows of `columns`; x and y of one type, scale and shift of f32.
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

/// The chain with activations of f32 in between, as the native one has them: nothing is rounded but what the
/// definition rounds.
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
      pool_.meet();
      if (worker == 0) finish(up_norm_, up_floats_, hidden_.data());
      pool_.meet();
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

void measure_onednn_layer_norm(State& state, ThreadPool& pool, LayerNormWorkload& inputs) try {
  if (inputs.rows < static_cast<std::size_t>(pool.workers())) {
    state.skip("fewer rows than threads: a thread would ask oneDNN for a matrix without rows");
  }
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  // What oneDNN does not have on this CPU it says here, where it may: a worker must not throw.
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
  if (std::min(inputs.x.size(), inputs.up.outputs()) < static_cast<std::size_t>(pool.workers())) {
    state.skip("fewer rows than threads: a thread would ask oneDNN for a matrix without rows");
  }
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
