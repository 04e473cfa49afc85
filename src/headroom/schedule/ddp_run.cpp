// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/ddp_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/schedule/round_values.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// How long the rounds between two answers take, about: an interrupt waits for them, and a rank that died is
/// found by them.
constexpr double kRoundsBatchNs = 0.5e9;
/// All-reduces by themselves, for what one costs by its size: of these and of the largest bucket.
constexpr std::int64_t kReducedBytes[] = {4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
constexpr int kReductions = 12;
/// Iterations in a trace.
constexpr int kTraced = 2;

void append(DdpRounds& rounds, const DdpRounds& more) {
  append_rounds(rounds.iteration_ns, more.iteration_ns);
  append_rounds(rounds.alone_ns, more.alone_ns);
  append_rounds(rounds.forward_ns, more.forward_ns);
  append_rounds(rounds.backward_ns, more.backward_ns);
  append_rounds(rounds.step_ns, more.step_ns);
  append_rounds(rounds.wait_ns, more.wait_ns);
  append_rounds(rounds.communication_ns, more.communication_ns);
  append_rounds(rounds.hidden_ns, more.hidden_ns);
  if (rounds.buckets.empty()) rounds.buckets.resize(more.buckets.size());
  if (rounds.buckets.size() != more.buckets.size())
    throw Error("a rank changed its buckets while it was measured");
  for (std::size_t i = 0; i < more.buckets.size(); ++i) {
    DdpBucket& bucket = rounds.buckets[i];
    bucket.bytes = more.buckets[i].bytes;
    bucket.tensors = more.buckets[i].tensors;
    append_rounds(bucket.launched_ns, more.buckets[i].launched_ns);
    append_rounds(bucket.completed_ns, more.buckets[i].completed_ns);
  }
}

/// Throws Error where a rank was asked for something else than rank 0.
void require_same_arguments(const std::vector<RankHello>& hellos) {
  for (const RankHello& hello : hellos) {
    if (hello.arguments == hellos.front().arguments) continue;
    throw Error(
        fmt::format("rank {} was asked for {}, rank 0 for {}: start all ranks with the same arguments",
                    hello.rank, hello.arguments, hellos.front().arguments));
  }
}

void require_same_model(const std::vector<DdpReady>& readies, const std::string& model) {
  for (std::size_t rank = 1; rank < readies.size(); ++rank) {
    if (readies[rank].idle || readies[rank].layout == readies.front().layout) continue;
    throw Error(
        fmt::format("rank {} has another {} than rank 0 ({} parameters in {} tensors, there {} in {}): run "
                    "the same build "
                    "of headroom-torch-rank on every machine",
                    rank, model, readies[rank].parameters, readies[rank].tensors, readies.front().parameters,
                    readies.front().tensors));
  }
}

/// Why the batches of the ranks that share a machine's memory do not fit there; empty where they do. With
/// nccl each rank has the memory of a GPU of its own.
std::string shortage(const std::vector<DdpReady>& readies, const DdpSetup& setup) {
  struct Host {
    double need = 0, available = 0;
    int ranks = 0;
  };
  std::map<std::string, Host> hosts;
  const bool takes_images = readies.front().takes_images;
  const bool on_gpus = setup.backend == "nccl";
  for (std::size_t rank = 0; rank < readies.size(); ++rank) {
    const DdpReady& ready = readies[rank];
    if (ready.idle) continue;
    Host& host = hosts[on_gpus ? fmt::format("{} {}", ready.host, rank) : ready.host];
    const auto available = static_cast<double>(ready.available_bytes);
    host.available = host.ranks == 0 ? available : std::min(host.available, available);
    host.need += static_cast<double>(ready.need_bytes);
    ++host.ranks;
  }
  for (const auto& [name, host] : hosts) {
    if (host.need <= host.available) continue;
    return fmt::format(
        "a batch of {} on {} rank{} of one {} takes about {}, and {} are available there: ask for a "
        "smaller --batch-size{}, or fewer ranks",
        setup.batch_size, host.ranks, host.ranks == 1 ? "" : "s", on_gpus ? "GPU" : "machine",
        format_bytes(host.need), format_bytes(host.available), takes_images ? " or --image-size" : "");
  }
  return {};
}

/// How many rounds take kRoundsBatchNs, by those that were measured.
int rounds_in_batch(const DdpRank& rank, int left) {
  const double each_ns = median(rank.rounds.iteration_ns) * (rank.rounds.alone_ns.empty() ? 1 : 2);
  return std::clamp(static_cast<int>(kRoundsBatchNs / std::max(each_ns, 1.0)), 1, left);
}

}  // namespace

DdpRun::DdpRun(RankGroup& ranks, DdpLimits limits, const std::function<bool()>& give_up)
    : limits_(limits), ranks_(ranks, limits.patience, give_up) {
  require_same_arguments(hellos());
}

std::vector<Json> DdpRun::ask(const Json& request, const std::string& awaited) {
  std::vector<Json> replies = ranks_.ask(request, awaited);
  failure_ = refusal(replies);
  return replies;
}

bool DdpRun::prepare(const DdpStep& step, DdpResult& result) {
  ranks_.require_backend(step.setup.backend);
  Json request = to_json(step.setup);
  request["do"] = "train";
  const std::vector<Json> replies = ask(request, "its " + step.setup.model);
  if (!failure_.empty()) {
    result.outcome = {Outcome::Kind::kFailed, failure_};
    return false;
  }
  std::vector<DdpReady> readies;
  for (const Json& reply : replies) readies.push_back(ddp_ready_from_json(reply));
  require_same_model(readies, step.setup.model);
  result.ready = readies.front();
  if (const std::string why = shortage(readies, step.setup); !why.empty()) {
    result.outcome = {Outcome::Kind::kSkipped, why};
    return false;
  }
  for (std::size_t rank = 0; rank < readies.size(); ++rank) {
    if (!readies[rank].idle && std::cmp_less(rank, step.setup.ranks))
      result.ranks.emplace_back().pid = hellos()[rank].pid;
  }
  ask({{"do", "load"}}, "its batch");
  // One at a time: each takes as long as it takes, and the time-out is for one.
  for (int i = 0; i < limits_.warmup && failure_.empty() && !ranks_.gives_up(); ++i) {
    ask({{"do", "warm"}, {"count", 1}}, "an iteration of " + step.setup.model);
  }
  if (!failure_.empty()) result.outcome = {Outcome::Kind::kFailed, failure_};
  return failure_.empty();
}

void DdpRun::add_rounds(DdpResult& result, int count) {
  const std::vector<Json> replies =
      ask({{"do", "rounds"}, {"count", count}},
          fmt::format("{} iteration{} of {}", count, count == 1 ? "" : "s", result.step.setup.model));
  if (!failure_.empty()) {
    result.outcome = {Outcome::Kind::kFailed, failure_};
    return;
  }
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    const DdpRounds more = ddp_rounds_from_json(replies[rank]);
    if (!std::cmp_equal(more.iteration_ns.size(), count)) {
      throw Error(
          fmt::format("asked for {} iterations, rank {} gave {}", count, rank, more.iteration_ns.size()));
    }
    append(result.ranks[rank].rounds, more);
  }
}

void DdpRun::measure(const DdpStep& step, DdpResult& result,
                     const std::function<void(const Progress&)>& report) {
  const auto began = std::chrono::steady_clock::now();
  Progress progress;
  progress.title = fmt::format("{}, {}", step.setup.model, step.label);
  progress.phase = "preparing";
  if (report) report(progress);
  result.step = step;
  if (!prepare(step, result) || step.is_warmup) {
    ranks_.ask({{"do", "drop"}}, "an end");
    return;
  }
  int left = limits_.iterations, count = 1;
  while (left > 0 && result.outcome.kind == Outcome::Kind::kMeasured) {
    if (ranks_.gives_up()) {
      result.stop = StopReason::kInterrupted;
      return;
    }
    add_rounds(result, count);
    if (result.outcome.kind != Outcome::Kind::kMeasured) break;
    left -= count;
    progress.phase = "sampling";
    progress.rounds = static_cast<std::uint32_t>(limits_.iterations - left);
    progress.elapsed_ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
    progress.median_ns = median(result.ranks.front().rounds.iteration_ns);
    if (report) report(progress);
    if (left > 0) count = rounds_in_batch(result.ranks.front(), left);
  }
  result.stop = StopReason::kMaxSamples;
  if (result.outcome.kind == Outcome::Kind::kMeasured) finish(result);
  ranks_.ask({{"do", "drop"}}, "an end");
}

void DdpRun::finish(DdpResult& result) {
  const std::vector<Json> agreements = ask({{"do", "agree"}}, "its parameters' checksum");
  if (!failure_.empty()) return;
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    result.ranks[rank].agreement = ddp_agreement_from_json(agreements[rank]);
    if (result.ranks[rank].agreement.parameters == result.ranks.front().agreement.parameters) continue;
    result.outcome = {Outcome::Kind::kFailed,
                      fmt::format("rank {} has other parameters than rank 0 after {} iterations", rank,
                                  result.ranks[rank].rounds.iteration_ns.size())};
  }
  if (result.ranks.size() > 1) reduce_alone(result);
  if (!result.step.trace.empty()) record_trace(result);
}

void DdpRun::reduce_alone(DdpResult& result) {
  std::vector<std::int64_t> sizes(std::begin(kReducedBytes), std::end(kReducedBytes));
  for (const DdpBucket& bucket : result.ranks.front().rounds.buckets) sizes.push_back(bucket.bytes);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const std::vector<Json> replies =
      ask({{"do", "reduce"}, {"bytes", sizes}, {"count", kReductions}}, "all-reduces by size");
  if (!failure_.empty()) return;
  result.reduced_bytes = std::move(sizes);
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    result.ranks[rank].reductions_ns = ddp_reductions_from_json(replies[rank]);
  }
}

void DdpRun::record_trace(DdpResult& result) {
  ask({{"do", "record"}, {"folder", result.step.trace}, {"count", kTraced}}, "a trace");
  result.no_trace = failure_;
}

}  // namespace headroom
