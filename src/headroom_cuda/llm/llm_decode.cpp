// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/llm/llm_decode.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "headroom/workload/llm_workload.h"
#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/kernels/kernel_plan.h"
#include "headroom_cuda/kernels/launches.h"
#include "headroom_cuda_device/cuda_check.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_timer.h"

namespace headroom::cuda {

namespace {

struct Sampling {
  std::size_t top_k = 1;
  float temperature = 1;
  std::uint64_t seed = 0;
};

void require_streamable(const State& state, const LlmConfig& config) {
  const auto require = [&](bool can, const std::string& what) {
    if (!can) state.skip("the GPU kernels cannot decode " + config.model + ": " + what);
  };
  require(config.dtype == "int8" || config.dtype == "bf16", "weights must be int8 or bf16");
  require(config.formats.empty() && config.output_dtype.empty(), "all matrices must have one format");
  require(!config.has_bias && config.shared_hidden == 0 && !config.has_shares_of_all,
          "it has biases, or experts of another kind");
  require(config.experts <= kMaxExperts, fmt::format("more than {} experts", kMaxExperts));
  require(has_attention(config.head_dim()), fmt::format("heads of {} values", config.head_dim()));
  for (const std::size_t columns : {config.dim, config.q_dim(), config.hidden}) {
    require(columns % kStreamUnit == 0,
            fmt::format("{} columns, not a multiple of {}", columns, kStreamUnit));
  }
  require(config.vocab % kStreamGroup == 0 && config.vocab < std::size_t{1} << 24U,
          fmt::format("a vocabulary of {}", config.vocab));
}

/// Merging blocks takes longer than 512 positions in one.
std::uint32_t splits_for(std::size_t positions) {
  constexpr std::size_t kOfBlock = 512;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>((positions + kOfBlock - 1) / kOfBlock, 1, 16));
}

std::uint32_t narrow(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

/// Weights for streaming: rows of W1 and W3 alternate, experts are consecutive.
class DeviceLlm {
 public:
  struct Layer {
    const std::uint16_t* attention_norm = nullptr;
    const std::uint16_t* ffn_norm = nullptr;
    const std::uint16_t* gate = nullptr;  ///< null without experts
    StreamedMatrix qkv, out, up, down;
  };

  /// Skips the case without enough memory, or kernels for the model.
  DeviceLlm(const State& state, const LlmWeights& weights) : config_(weights.config()) {
    require_streamable(state, config_);
    for (std::size_t index = 0; index < config_.layers; ++index) {
      const LlmLayer& from = weights.layer(index);
      Layer layer;
      layer.attention_norm = vector(state, from.attention_norm, config_.dim);
      layer.ffn_norm = vector(state, from.ffn_norm, config_.dim);
      if (config_.is_gated()) {
        layer.gate =
            vector(state, reinterpret_cast<const Bf16*>(from.gate.weights), config_.experts * config_.dim);
      }
      layer.qkv = matrix(state, {{&from.qkv}});
      layer.out = matrix(state, {{&from.out}});
      std::vector<std::vector<const LlmMatrix*>> up, down;
      for (std::size_t expert = 0; expert < config_.experts; ++expert) {
        up.push_back({&from.w1[expert], &from.w3[expert]});
        down.push_back({&from.w2[expert]});
      }
      layer.up = matrix(state, up);
      layer.down = matrix(state, down);
      layers_.push_back(layer);
    }
    embedding_ = vector(state, weights.embedding(0), config_.vocab * config_.dim);
    final_norm_ = vector(state, weights.final_norm(), config_.dim);
    output_ = matrix(state, {{&weights.output()}});
  }

  const LlmConfig& config() const { return config_; }
  const Layer& layer(std::size_t index) const { return layers_[index]; }
  const std::uint16_t* embedding() const { return embedding_; }
  const std::uint16_t* final_norm() const { return final_norm_; }
  const StreamedMatrix& output() const { return output_; }
  /// Type of all matrices: "int8" or "bf16".
  const char* dtype() const { return config_.dtype.c_str(); }

 private:
  const std::uint16_t* vector(const State& state, const Bf16* values, std::size_t count) {
    memory_.emplace_back(state, count * sizeof(Bf16));
    memory_.back().upload(std::span(values, count));
    return memory_.back().as<const std::uint16_t>();
  }
  /// An entry's matrices alternate by row; entries are consecutive.
  StreamedMatrix matrix(const State& state, const std::vector<std::vector<const LlmMatrix*>>& stack) {
    const LlmMatrix& first = *stack.front().front();
    const std::size_t turns = stack.front().size(), rows = turns * first.rows, row_bytes = first.row_bytes();
    memory_.emplace_back(state, stack.size() * rows * row_bytes);
    DeviceBuffer& weights = memory_.back();
    std::vector<Bf16> scales;
    for (std::size_t entry = 0; entry < stack.size(); ++entry) {
      for (std::size_t turn = 0; turn < turns; ++turn) {
        weights.upload_rows(stack[entry][turn]->weights, first.rows, row_bytes,
                            (entry * rows + turn) * row_bytes, turns * row_bytes);
      }
      for (std::size_t row = 0; first.scales != nullptr && row < rows; ++row)
        scales.push_back(stack[entry][row % turns]->scales[row / turns]);
    }
    StreamedMatrix made;
    made.weights = weights.data();
    made.rows = static_cast<std::uint32_t>(rows);
    made.columns = static_cast<std::uint32_t>(first.columns);
    if (!scales.empty()) made.scales = vector(state, scales.data(), scales.size());
    return made;
  }

  LlmConfig config_;
  std::vector<DeviceBuffer> memory_;
  std::vector<Layer> layers_;
  const std::uint16_t* embedding_ = nullptr;
  const std::uint16_t* final_norm_ = nullptr;
  StreamedMatrix output_;
};

/// Decodes one sequence. A pass is a graph: a token through all layers and, with logits, the draw of the next
/// one. The residual stream is f32; inputs of matrices are rounded to bf16 (f16 for int8 weights), keys and
/// values to bf16.
class DeviceDecoder {
 public:
  /// Keeps each matrix's fastest plan. `device` and `model` must outlive it.
  DeviceDecoder(const State& state, Device& device, const DeviceLlm& model, std::size_t positions,
                const Sampling& sampling)
      : device_(device), model_(model), config_(model.config()), positions_(positions), sampling_(sampling) {
    const std::size_t cache = config_.layers * config_.kv_dim() * positions * sizeof(Bf16);
    const auto allocate = [&](std::size_t bytes) { return DeviceBuffer(state, bytes); };
    const auto zeros = [&](std::size_t count) { return uploaded(state, std::vector<std::uint32_t>(count)); };
    // Passes that time plans may draw one more token.
    tokens_ = zeros(positions + 1);
    counters_ = zeros(3 * 64);
    x_ = allocate(config_.dim * sizeof(float));
    qkv_ = allocate(config_.qkv_rows() * sizeof(float));
    keys_ = allocate(cache);
    values_ = allocate(cache);
    attended_ = allocate(config_.q_dim() * sizeof(Bf16));
    hidden_ = allocate(config_.chosen * config_.hidden * sizeof(Bf16));
    parts_ = allocate(config_.heads * splits_for(positions) * (config_.head_dim() + 2) * sizeof(float));
    finished_ = zeros(config_.heads);
    chosen_ = zeros(config_.chosen);
    shares_ = zeros(config_.chosen);
    routed_ = zeros(config_.is_gated() ? positions * config_.layers * config_.chosen : 1);
    logits_ = allocate(config_.vocab * sizeof(float));
    const RotaryTable rotary(config_, positions);
    cosines_ = uploaded(state, rotary.cosines);
    sines_ = uploaded(state, rotary.sines);
    host_logits_.resize(config_.vocab);
    tune(state);
  }

  /// As in LlmModel (headroom/workload/llm_workload.h).
  std::span<const float> forward(std::span<const std::int32_t> tokens) {
    if (tokens.empty() || used_ + tokens.size() > positions_)
      throw std::length_error("more tokens than allocated");
    device_.synchronize();
    tokens_.upload(tokens, used_ * sizeof(std::int32_t));
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) run(without_logits_);
    run(with_logits_);
    device_.synchronize();
    used_ += tokens.size();
    logits_.download(std::span(host_logits_));
    if (config_.is_gated()) {
      routing_.resize(used_ * config_.layers * config_.chosen);
      routed_.download(std::span(routing_));
    }
    return host_logits_;
  }
  std::int32_t sample() const {
    std::vector<std::int32_t> tokens(used_ + 1);
    tokens_.download(std::span(tokens));
    return tokens.back();
  }
  void rewind() {
    check(cudaMemsetAsync(sequence().next, 0, sizeof(std::uint32_t), device_.stream()), "cudaMemsetAsync");
    used_ = 0;
  }
  const LlmRouting& routing() const { return routing_; }

  /// start_with uploads `tokens` and waits; launch_start launches their passes, which draw the next token.
  void start_with(std::span<const std::int32_t> tokens) {
    device_.synchronize();
    tokens_.upload(tokens);
  }
  void launch_start(std::size_t tokens) {
    rewind();
    for (std::size_t i = 0; i + 1 < tokens; ++i) run(without_logits_);
    run(with_logits_);
  }
  void launch_next() const { run(with_logits_); }

  /// "qkv: 1 block of 512, 2 teams, 8 deep, early; ...".
  std::string plans() const {
    constexpr std::array kNames{"qkv", "out", "up", "down", "logits"};
    std::string text;
    for (std::size_t kind = 0; kind < plans_.size(); ++kind)
      text += fmt::format("{}{}: {}", kind == 0 ? "" : "; ", kNames[kind], plans_[kind].name());
    return text;
  }
  std::size_t launches() const { return launches_; }  ///< per pass with logits

 private:
  enum Kind : std::size_t { kQkv, kOut, kUp, kDown, kLogits, kKinds };
  using Plans = std::array<StreamPlan, kKinds>;
  TokenSequence sequence() {
    // Counters in separate cache lines.
    auto* const counters = counters_.as<std::uint32_t>();
    return {tokens_.as<std::int32_t>(), counters, counters + 64, counters + 128, narrow(positions_ + 1)};
  }
  void launch_pass(const Plans& plans, bool logits) {
    const cudaStream_t stream = device_.stream();
    const Start start = plans[kQkv].start;
    launches_ = 1;
    launch_embed(sequence(), model_.embedding(), x_.as<float>(), narrow(config_.dim), start, stream);
    for (std::size_t index = 0; index < config_.layers; ++index) launch_layer(plans, index);
    if (!logits) return;
    launch_normed_rows(model_.output(), model_.dtype(),
                       {x_.as<float>(), model_.final_norm(), config_.norm_epsilon}, logits_.as<float>(),
                       plans[kLogits], stream);
    launch_sample({logits_.as<float>(), sequence(), narrow(config_.vocab), narrow(sampling_.top_k),
                   sampling_.temperature, sampling_.seed},
                  start, stream);
    launches_ += 2;
  }
  void launch_layer(const Plans& plans, std::size_t index) {
    const DeviceLlm::Layer& layer = model_.layer(index);
    const char* const dtype = model_.dtype();
    const cudaStream_t stream = device_.stream();
    const Start start = plans[kQkv].start;
    auto* const x = x_.as<float>();
    auto* const position = sequence().position;
    const NormedStream attention_x{x, layer.attention_norm, config_.norm_epsilon};
    const NormedStream ffn_x{x, layer.ffn_norm, config_.norm_epsilon};
    launch_normed_rows(layer.qkv, dtype, attention_x, qkv_.as<float>(), plans[kQkv], stream);

    const std::size_t cache = index * config_.kv_dim() * positions_;
    AttentionProblem attention;
    attention.qkv = qkv_.as<float>();
    attention.cosines = cosines_.as<float>();
    attention.sines = sines_.as<float>();
    attention.keys = keys_.as<std::uint16_t>() + cache;
    attention.values = values_.as<std::uint16_t>() + cache;
    attention.position = position;
    attention.parts = parts_.as<float>();
    attention.finished = finished_.as<std::uint32_t>();
    attention.y = attended_.as<std::uint16_t>();
    attention.heads = narrow(config_.heads);
    attention.kv_heads = narrow(config_.kv_heads);
    attention.positions = narrow(positions_);
    attention.splits = splits_for(positions_);
    launch_attention(attention, config_.head_dim(), start, stream);
    launch_added_rows(layer.out, dtype, attended_.as<std::uint16_t>(), x, nullptr, plans[kOut], stream);

    StreamedMatrix up = layer.up, down = layer.down;
    auto* const hidden = hidden_.as<std::uint16_t>();
    auto* const chosen = config_.is_gated() ? chosen_.as<std::int32_t>() : nullptr;
    auto* const shares = config_.is_gated() ? shares_.as<float>() : nullptr;
    if (config_.is_gated()) {
      launch_route(
          {layer.gate, ffn_x, position, chosen, shares, routed_.as<std::uint32_t>(), narrow(config_.experts),
           narrow(config_.dim), narrow(config_.chosen), narrow(index), narrow(config_.layers)},
          start, stream);
    }
    up.chosen = chosen;
    up.slots = narrow(config_.chosen);
    launch_gated_rows(up, dtype, ffn_x, hidden, plans[kUp], stream);
    for (std::size_t slot = 0; slot < config_.chosen; ++slot) {
      down.chosen = chosen == nullptr ? nullptr : chosen + slot;
      launch_added_rows(down, dtype, hidden + slot * config_.hidden, x,
                        shares == nullptr ? nullptr : shares + slot, plans[kDown], stream);
    }
    launches_ += 4 + (config_.is_gated() ? 1 : 0) + config_.chosen;
  }
  GraphExecutable captured(const Plans& plans, bool logits) {
    const cudaStream_t stream = device_.stream();
    return executable_of(capture(stream, [&] { launch_pass(plans, logits); }), stream);
  }
  void run(const GraphExecutable& graph) const {
    check(cudaGraphLaunch(graph.get(), device_.stream()), "cudaGraphLaunch");
  }
  const StreamedMatrix& matrix_of(std::size_t kind) const {
    const DeviceLlm::Layer& layer = model_.layer(0);
    return *std::array{&layer.qkv, &layer.out, &layer.up, &layer.down, &model_.output()}.at(kind);
  }
  bool fits(const StreamPlan& plan, std::size_t kind) const {
    const StreamedMatrix& matrix = matrix_of(kind);
    const std::size_t rows = matrix.rows * (kind == kUp ? config_.chosen : 1);
    return plan.warps_of_team() <= row_bytes(llm_format(config_.dtype), matrix.columns) / kStreamUnit &&
           plan.shared_bytes(rows, matrix.columns) <= device_.shared_memory_per_block();
  }
  /// Chooses for all kinds together, then for each; then tries `late`.
  void tune(const State& state) {
    const bool starts_early = device_.compute_capability() >= 90;
    const std::vector<StreamPlan> offered =
        stream_plans(static_cast<unsigned>(device_.multiprocessors()), starts_early);
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      const auto first =
          std::ranges::find_if(offered, [&](const StreamPlan& plan) { return fits(plan, kind); });
      if (first == offered.end()) state.skip("no kernel supports rows as long as those of " + config_.model);
      plans_[kind] = *first;
    }
    double best = std::numeric_limits<double>::infinity();
    const auto consider = [&](const Plans& plans) {
      const double took = pass_ns(captured(plans, true));
      if (took >= best) return;
      best = took;
      plans_ = plans;
    };
    if (positions_ >= 2) {
      consider(plans_);
      for (const StreamPlan& plan : offered) {
        Plans all = plans_;
        for (std::size_t kind = 0; kind < kKinds; ++kind) {
          if (fits(plan, kind)) all[kind] = plan;
        }
        consider(all);
      }
      for (std::size_t kind = 0; kind < kKinds; ++kind) {
        for (const StreamPlan& plan : offered) {
          if (!fits(plan, kind)) continue;
          Plans changed = plans_;
          changed[kind] = plan;
          consider(changed);
        }
      }
      if (starts_early) {
        Plans late = plans_;
        for (StreamPlan& plan : late) plan.late = true;
        consider(late);
        for (std::size_t kind = 0; kind < kKinds; ++kind) {
          Plans changed = plans_;
          changed[kind].late = !changed[kind].late;
          consider(changed);
        }
      }
    }
    without_logits_ = captured(plans_, false);
    with_logits_ = captured(plans_, true);
    rewind();
  }
  double pass_ns(const GraphExecutable& graph) {
    constexpr int kRounds = 3, kPasses = 2;
    const Launch pass = [&](std::size_t /*copy*/, cudaStream_t /*the device's own*/) { run(graph); };
    rewind();
    LaunchTimer timer(device_, pass, 1, {}, Capture::kNone);
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < kRounds; ++round) {
      rewind();
      best = std::min(best, timer.time(kPasses));
    }
    return best / kPasses;
  }

  Device& device_;
  const DeviceLlm& model_;
  const LlmConfig& config_;
  std::size_t positions_;
  Sampling sampling_;
  DeviceBuffer tokens_, counters_, x_, qkv_, keys_, values_, attended_, hidden_, parts_, finished_, chosen_,
      shares_, routed_, logits_, cosines_, sines_;
  Plans plans_;
  GraphExecutable without_logits_, with_logits_;
  std::size_t launches_ = 0, used_ = 0;
  std::vector<float> host_logits_;
  LlmRouting routing_;
};

}  // namespace

void llm_decode(State& state, const LlmConfig& config) {
  const auto device = device_of(state);
  const Team team = fresh_threads(state.threads());
  const auto workload = llm_workload(state, config, team, LlmIteration::kGeneration);
  const auto start = std::chrono::steady_clock::now();
  const LlmConfig& made = workload->weights.config();
  const auto model =
      state.shared<DeviceLlm>(fmt::format("llm on the device {} {} layers={} seed={}", made.model, made.dtype,
                                          made.layers, state.seed()),
                              [&] { return std::make_shared<DeviceLlm>(state, workload->weights); });
  DeviceDecoder decoder(state, *device, *model, workload->positions(),
                        {LlmWorkload::kTopK, LlmWorkload::kTemperature, state.seed()});
  state.note("variant", decoder.plans());
  state.note("pass", fmt::format("{} launches in a graph", decoder.launches()));
  verify_llm(state, *workload, decoder, team, llm_tolerance(made, false),
             std::chrono::steady_clock::now() - start, LlmIteration::kGeneration);
  decoder.start_with(workload->prompt);
  const Launch generation = [&](std::size_t /*copy*/, cudaStream_t /*the device's own*/) {
    decoder.launch_start(workload->prompt.size());
    for (std::size_t token = 1; token < workload->new_tokens; ++token) decoder.launch_next();
  };
  measure_on_device(state, *device, generation, {}, Capture::kNone);
}

}  // namespace headroom::cuda
