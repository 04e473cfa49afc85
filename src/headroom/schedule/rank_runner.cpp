// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/rank_runner.h"

#include <algorithm>
#include <cstddef>

#include "headroom/base/error.h"
#include "headroom/runner/blas_protocol.h"

namespace headroom {
namespace {

/// What a rank has to end in once nothing more is asked of it.
constexpr std::chrono::milliseconds kEndPatience{10'000};

std::string title_of(const CaseSpec& spec) {
  std::string title = spec.experiment;
  for (const auto& [axis, value] : spec.axes) title += " " + axis + "=" + value;
  return title;
}

}  // namespace

RankRunner::RankRunner(RankGroup ranks, RankPatience patience, const std::atomic<bool>& interrupted)
    : ranks_(std::move(ranks)),
      conversation_(ranks_, patience, [&interrupted] { return interrupted.load(); }),
      hello_{"torch-rank", conversation_.hellos().front().library, kProtocolVersion, true} {}

std::vector<Json> RankRunner::ask(const Json& request, const std::string& awaited) {
  try {
    return conversation_.ask(request, awaited);
  } catch (const Error& error) {
    throw RunnerLost{error.what(), true};
  }
}

template <typename Decode>
auto RankRunner::understood(Decode&& decode) {
  try {
    return decode();
  } catch (const Error& error) {
    throw RunnerLost{std::string("a rank broke the protocol: ") + error.what(), true};
  }
}

RunnerDescription RankRunner::describe() {
  const std::vector<Json> replies = ask({{"do", "describe"}}, "what it can measure");
  return understood([&] {
    RunnerDescription found;
    found.experiments = descriptions_from_json(replies.front());
    found.blas = blas_of_json(replies.front());
    found.ranks = conversation_.hellos();
    return found;
  });
}

void RankRunner::finish() {
  try {
    ranks_.finish(kEndPatience);
  } catch (const RankLost& lost) {
    throw RunnerLost{lost.what(), true};
  }
}

PrepareReply RankRunner::prepare(int id, const CaseSpec& spec) {
  titles_[id] = title_of(spec);
  const std::vector<Json> replies =
      ask({{"do", "prepare"}, {"case", id}, {"spec", to_json(spec)}}, titles_[id] + " to be prepared");
  PrepareReply merged;
  if (const std::string why = refusal(replies); !why.empty()) {
    merged.outcome = {Outcome::Kind::kFailed, why};
  } else {
    merged = understood([&] {
      PrepareReply first = prepare_reply_from_json(replies.front());
      for (const Json& reply : replies) {
        const Outcome outcome = prepare_reply_from_json(reply).outcome;
        if (first.outcome.kind == Outcome::Kind::kMeasured) first.outcome = outcome;
      }
      return first;
    });
  }
  // Ranks that could would wait for those that could not.
  if (merged.outcome.kind != Outcome::Kind::kMeasured) release(id);
  return merged;
}

SampleReply RankRunner::sample(int id, const SampleRequest& request) {
  const std::vector<Json> replies =
      ask({{"do", "sample"}, {"case", id}, {"iterations", request.iterations}, {"lead_in", request.lead_in}},
          "a sample of " + titles_[id]);
  SampleReply merged;
  merged.failure = refusal(replies);
  if (!merged.failure.empty()) return merged;
  return understood([&] {
    for (std::size_t rank = 0; rank < replies.size(); ++rank) {
      SampleReply own = sample_reply_from_json(replies[rank]);
      if (!own.failure.empty()) {
        merged.failure = std::move(own.failure);
        break;
      }
      if (own.sample.elapsed_ns == 0) continue;
      merged.ranks.push_back({conversation_.hellos()[rank].pid, own.sample.elapsed_ns, own.sample.columns});
      if (own.sample.elapsed_ns > merged.sample.elapsed_ns) merged.sample = std::move(own.sample);
    }
    return merged;
  });
}

CountReply RankRunner::count(int, const SampleRequest&) {
  return {{}, "what ranks do is not counted"};
}

std::string RankRunner::trace(int id, const std::string& file) {
  const std::vector<Json> replies =
      ask({{"do", "trace"}, {"case", id}, {"file", file}}, "a trace of " + titles_[id]);
  if (const std::string why = refusal(replies); !why.empty()) return why;
  return understood([&] {
    for (const Json& reply : replies) {
      if (const std::string why = json_string_or(reply, "untraced", "", ""); !why.empty()) return why;
    }
    return std::string();
  });
}

void RankRunner::release(int id) {
  ask({{"do", "release"}, {"case", id}}, "the end of " + titles_[id]);
  titles_.erase(id);
}

std::vector<Conclusion> RankRunner::conclude(int id) {
  const std::vector<Json> replies =
      ask({{"do", "release"}, {"case", id}, {"conclude", true}}, "what it has to say of " + titles_[id]);
  titles_.erase(id);
  if (const std::string why = refusal(replies); !why.empty()) return {{why}};
  return understood([&] {
    std::vector<Conclusion> told;
    for (const Json& reply : replies) told.push_back(conclusion_from_json(reply));
    return told;
  });
}

}  // namespace headroom
