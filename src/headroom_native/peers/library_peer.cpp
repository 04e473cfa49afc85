// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/peers/library_peer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "headroom/process/affinity.h"
#include "headroom/workload/gather_gemv_workload.h"
#include "headroom/workload/gemv_workload.h"
#include "headroom/workload/layer_norm_workload.h"
#include "headroom/workload/oracle.h"
#include "headroom/workload/slice.h"
#include "headroom_native/kernels/pool_team.h"
#include "headroom_native/peers/guarded_output.h"

namespace headroom::native {
namespace {

/// One call over all rows; each worker makes its share of it.
struct WholeCall {
  headroom_peer_call call{};
  std::size_t item_bytes = 0;  ///< of a weight
};

WholeCall whole_call(headroom_peer_operation operation, const std::string& dtype, std::size_t rows,
                     std::size_t columns) {
  WholeCall whole;
  whole.call.size = sizeof(headroom_peer_call);
  whole.call.operation = operation;
  whole.call.dtype = dtype == "int8" ? HEADROOM_PEER_INT8 : HEADROOM_PEER_BF16;
  whole.call.rows = rows;
  whole.call.columns = columns;
  whole.call.epsilon = kNormEpsilon;
  whole.item_bytes = item_bytes(dtype);
  return whole;
}

headroom_peer_call share_of(const WholeCall& whole, int worker, int workers) {
  headroom_peer_call call = whole.call;
  const Slice part = slice_of(call.rows, worker, workers);
  call.thread = worker;
  call.threads = workers;
  call.rows = part.size();
  if (call.weights != nullptr) {
    call.weights = static_cast<const std::byte*>(call.weights) + part.begin * call.columns * whole.item_bytes;
  }
  const bool is_norm = call.operation == HEADROOM_PEER_LAYER_NORM;
  if (is_norm) call.x += part.begin * call.columns;
  if (call.y != nullptr) call.y += part.begin * (is_norm ? call.columns : 1);
  return call;
}

/// The calls of a case: those of each copy of the inputs, cut into the shares of the workers. What was
/// prepared is released with it, by the workers that prepared it.
class PeerCalls {
 public:
  PeerCalls(const Peer& peer, ThreadPool& pool, std::vector<std::vector<WholeCall>> of_copies)
      : peer_(peer),
        pool_(pool),
        workers_(peer.request.own_threads ? 1 : pool.workers()),
        shares_(static_cast<std::size_t>(workers_)),
        answers_(static_cast<std::size_t>(workers_)) {
    each_worker([&](int worker) { make_shares(worker, of_copies); });
  }
  ~PeerCalls() {
    if (peer_.release == nullptr) return;
    each_worker([&](int worker) {
      for (const auto& of_copy : shares_[static_cast<std::size_t>(worker)]) {
        for (const headroom_peer_call& call : of_copy) {
          if (call.prepared != nullptr) peer_.release(call.prepared);
        }
      }
    });
  }
  PeerCalls(const PeerCalls&) = delete;
  PeerCalls& operator=(const PeerCalls&) = delete;

  /// Whether all that was to be prepared is.
  bool is_prepared() const {
    return std::ranges::all_of(answers_, [](const Answer& answer) { return answer.code == 0; });
  }

  /// One iteration; what the first call that failed returned, else 0.
  int run(std::size_t copy) {
    each_worker([&](int worker) {
      const auto own = static_cast<std::size_t>(worker);
      for (const headroom_peer_call& call : shares_[own][copy]) {
        if (call.rows == 0) continue;
        if (const int answer = peer_.call(&call); answer != 0) answers_[own].code = answer;
      }
    });
    const auto failed = std::ranges::find_if(answers_, [](const Answer& answer) { return answer.code != 0; });
    return failed == answers_.end() ? 0 : failed->code;
  }

 private:
  /// Of each worker in a line of its own.
  struct alignas(64) Answer {
    int code = 0;
  };

  template <typename Body>
  void each_worker(Body&& body) {
    if (workers_ == 1 && peer_.request.own_threads) return body(0);
    pool_.run([&](int worker, int) { body(worker); });
  }

  void make_shares(int worker, const std::vector<std::vector<WholeCall>>& of_copies) {
    const auto own = static_cast<std::size_t>(worker);
    for (const auto& of_copy : of_copies) {
      auto& shares = shares_[own].emplace_back();
      for (const WholeCall& whole : of_copy) {
        headroom_peer_call call = share_of(whole, worker, workers_);
        if (peer_.request.own_threads) call.threads = pool_.workers();
        prepare(call, answers_[own]);
        shares.push_back(call);
      }
    }
  }

  void prepare(headroom_peer_call& call, Answer& answer) const {
    if (peer_.prepare == nullptr || call.rows == 0 || answer.code != 0) return;
    headroom_peer_call without_output = call;
    without_output.y = nullptr;
    call.prepared = peer_.prepare(&without_output);
    if (call.prepared == nullptr) answer.code = HEADROOM_PEER_CANNOT;
  }

  const Peer& peer_;
  ThreadPool& pool_;
  const int workers_;
  std::vector<std::vector<std::vector<headroom_peer_call>>> shares_;  ///< by worker, then by copy
  std::vector<Answer> answers_;
};

std::string label(const Peer& peer) {
  return std::filesystem::path(peer.request.path).filename().string() + ":" + peer.request.symbol;
}

void describe(const Peer& peer, State& state) {
  state.note("isa", label(peer));
  state.note("peer",
             peer.request.own_threads ? "one call, with threads of its own" : "a call of each thread");
  if (peer.prepare != nullptr) state.note("weights", "prepared ahead");
}

void require_dtype(const Peer& peer, State& state, const std::string& dtype) {
  if (!peer.request.dtype.empty() && peer.request.dtype != dtype)
    state.skip(fmt::format("{} is asked for {} only (dtype={})", state.backend(), peer.request.dtype,
                           peer.request.dtype));
}

/// Throws what ends the case where `answer` is no success.
void expect_done(State& state, const Peer& peer, int answer) {
  if (answer == HEADROOM_PEER_DONE) return;
  if (answer == HEADROOM_PEER_CANNOT) {
    state.skip(label(peer) + " says that it cannot do this operation, dtype or shape");
  }
  throw WrongAnswer{fmt::format("{} failed: it returned {}", label(peer), answer)};
}

void expect_undamaged(State& state, const Peer& peer, const GuardedOutput& y) {
  if (const std::string damage = y.damage(); !damage.empty()) state.wrong_answer(label(peer) + " " + damage);
}

void measure(const Peer& peer, State& state, ThreadPool& pool, std::vector<std::vector<WholeCall>> of_copies,
             GuardedOutput& y, const std::vector<double>& expected, Tolerance tolerance) {
  describe(peer, state);
  // The pool has pinned this thread, and threads that it starts would share its CPU.
  if (peer.request.own_threads) pin_this_thread(pool.cpus());
  PeerCalls calls(peer, pool, std::move(of_copies));
  if (!calls.is_prepared()) {
    state.skip(label(peer) + " cannot prepare this operation, dtype or shape (" + peer.request.symbol +
               "_prepare returned null)");
  }
  const auto once = [&] {
    expect_done(state, peer, calls.run(0));
    expect_undamaged(state, peer, y);
  };
  state.verify(once, y.copy(0), expected, tolerance);
  state.measure([&](std::size_t copy) {
    if (const int answer = calls.run(copy); answer != 0) expect_done(state, peer, answer);
  });
  if (state.is_concluding()) expect_undamaged(state, peer, y);
}

const std::uint16_t* bits_of(const Bf16* values) {
  return reinterpret_cast<const std::uint16_t*>(values);
}

/// The product of one matrix, whose rows of y begin at `first`.
WholeCall gemv_call(const std::string& dtype, std::size_t size, const std::byte* weights, const Bf16* x,
                    GuardedOutput& y, std::size_t first) {
  WholeCall whole = whole_call(HEADROOM_PEER_GEMV, dtype, size, size);
  whole.call.weights = weights;
  whole.call.x = bits_of(x);
  whole.call.y = reinterpret_cast<std::uint16_t*>(y.copy(0).data() + first);
  return whole;
}

}  // namespace

void measure_gemv_by(const Peer& peer, State& state) {
  const auto pool = shared_pool(state);
  require_dtype(peer, state, state.text("dtype"));
  const auto inputs = gemv_workload(state, team_of(*pool));
  GuardedOutput y(inputs->size, 1);
  std::vector<std::vector<WholeCall>> calls;
  for (std::size_t copy = 0; copy < inputs->weights.copies(); ++copy) {
    calls.push_back(
        {gemv_call(inputs->dtype, inputs->size, inputs->weights.copy(copy), inputs->x.data(), y, 0)});
  }
  measure(peer, state, *pool, std::move(calls), y, inputs->expected, GemvWorkload::kTolerance);
}

void measure_gather_gemv_by(const Peer& peer, State& state) {
  const auto pool = shared_pool(state);
  require_dtype(peer, state, state.text("dtype"));
  const auto inputs = gather_gemv_workload(state, team_of(*pool));
  GuardedOutput y(GatherGemvWorkload::kChosen * inputs->size, 1);
  constexpr std::size_t kPairs = GatherGemvWorkload::kExperts / GatherGemvWorkload::kChosen;
  const std::size_t copies = state.caches() == Caches::kHot ? 1 : inputs->experts.copies() * kPairs;
  std::vector<std::vector<WholeCall>> calls;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    auto& of_copy = calls.emplace_back();
    for (std::size_t chosen = 0; chosen < GatherGemvWorkload::kChosen; ++chosen) {
      of_copy.push_back(gemv_call(inputs->dtype, inputs->size, inputs->matrix(copy, chosen), inputs->x.data(),
                                  y, chosen * inputs->size));
    }
  }
  measure(peer, state, *pool, std::move(calls), y, inputs->expected, GatherGemvWorkload::kTolerance);
}

void measure_layer_norm_by(const Peer& peer, State& state) {
  const auto pool = shared_pool(state);
  require_dtype(peer, state, state.text("dtype"));
  const auto inputs = layer_norm_workload(state, team_of(*pool));
  const std::size_t values = inputs->rows * inputs->columns, copies = inputs->x.copies();
  state.require_memory(GuardedOutput::bytes_for(values, copies));
  GuardedOutput y(values, copies);
  std::vector<std::vector<WholeCall>> calls;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    WholeCall whole = whole_call(HEADROOM_PEER_LAYER_NORM, "bf16", inputs->rows, inputs->columns);
    whole.call.x = bits_of(reinterpret_cast<const Bf16*>(inputs->x.copy(copy)));
    whole.call.gamma = inputs->gamma.data();
    whole.call.beta = inputs->beta.data();
    whole.call.y = reinterpret_cast<std::uint16_t*>(y.copy(copy).data());
    calls.push_back({whole});
  }
  measure(peer, state, *pool, std::move(calls), y, inputs->expected(team_of(*pool)),
          LayerNormWorkload::kTolerance);
}

}  // namespace headroom::native
