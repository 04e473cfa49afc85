// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/registry_server.h"

#include <utility>

#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/runner/blas_protocol.h"
#include "headroom/runner/device_protocol.h"
#include "headroom/runner/protocol.h"

namespace headroom {
namespace {

int case_of(const Json& request) {
  return json_member_as<int>(request, "case", "request");
}

SampleRequest sample_of(const Json& request) {
  const SampleRequest wanted{json_member_as<std::uint64_t>(request, "iterations", "request"),
                             json_member_as<std::uint64_t>(request, "lead_in", "request")};
  if (wanted.iterations == 0) throw Error("request/iterations: expected at least one");
  return wanted;
}

}  // namespace

Json RegistryServer::answer(const Json& request) {
  const std::string what = json_string(request, "do", "request");
  if (what == "describe") return descriptions();
  if (what == "prepare") return prepare(request);
  if (what == "sample") return sample(request);
  if (what == "count") return count(request);
  if (what == "trace") return trace(request);
  if (what == "release") return release(request);
  throw Error("unknown request " + in_quotes(what));
}

Json RegistryServer::descriptions() const {
  Json list = Json::array();
  for (const Experiment& experiment : registry_.all()) list.push_back(to_json(describe(experiment)));
  Json reply{{"experiments", list}};
  if (registry_.describe_blas()) {
    if (const auto blas = registry_.describe_blas()()) reply["blas"] = to_json(*blas);
  }
  if (!registry_.describe_devices()) return reply;
  reply["devices"] = Json::array();
  for (const DeviceDescription& device : registry_.describe_devices()()) {
    reply["devices"].push_back(to_json(device));
  }
  return reply;
}

Json RegistryServer::prepare(const Json& request) {
  CaseSpec spec = case_spec_from_json(json_member(request, "spec", "request"));
  const Experiment* experiment = registry_.find(spec.experiment);
  if (experiment == nullptr) throw Error("no experiment " + in_quotes(spec.experiment));
  const int id = case_of(request);
  cases_.erase(id);
  auto made = std::make_unique<CaseThread>(*experiment, std::move(spec), shared_);
  const Outcome& outcome = made->prepared().outcome;
  if (outcome.kind == Outcome::Kind::kFailed) require_survival(outcome.reason);
  Json reply = to_json(made->prepared());
  if (made->prepared().outcome.kind == Outcome::Kind::kMeasured) cases_.emplace(id, std::move(made));
  return reply;
}

CaseThread& RegistryServer::prepared(const Json& request) {
  const auto found = cases_.find(case_of(request));
  if (found == cases_.end()) throw Error("that case is not prepared");
  return *found->second;
}

Json RegistryServer::sample(const Json& request) {
  CaseThread& made = prepared(request);
  const SampleReply reply = made.sample(sample_of(request));
  if (!reply.failure.empty()) require_survival(reply.failure);
  return to_json(reply);
}

/// Counts iterations of the case. That they cannot be counted ends neither the case nor the run.
Json RegistryServer::count(const Json& request) {
  CaseThread& made = prepared(request);
  SampleRequest wanted = sample_of(request);
  CountReply counted;
  const Surround surround = [&](const std::function<void()>& run) {
    try {
      counted.counts = counters_.count(run);
    } catch (const Error& error) {
      counted.failure = error.what();
    }
  };
  SampleReply reply;
  // The lead-in is a sample by itself: counters are open only where they count.
  if (wanted.lead_in > 0) reply = made.sample({std::exchange(wanted.lead_in, 0), 0});
  wanted.surround = &surround;
  if (reply.failure.empty()) reply = made.sample(wanted);
  if (!reply.failure.empty()) {
    require_survival(reply.failure);
    counted.failure = reply.failure;
  }
  return to_json(counted);
}

/// Records one call of the case. That it cannot be recorded ends neither the case nor the run.
Json RegistryServer::trace(const Json& request) {
  CaseThread& made = prepared(request);
  const std::string file = json_string(request, "file", "request");
  std::string problem = registry_.tracer() ? "" : "this runner cannot record what a case does";
  if (!problem.empty()) return {{"untraced", problem}};
  const Surround surround = [&](const std::function<void()>& run) {
    try {
      registry_.tracer()(file, run);
    } catch (const std::exception& error) {
      problem = error.what();
    }
  };
  const SampleReply reply = made.sample({kTracedIterations, 0, &surround});
  if (!reply.failure.empty()) problem = reply.failure;
  if (!problem.empty()) require_survival(problem);
  if (!problem.empty()) return {{"untraced", problem}};
  return {{"traced", file}};
}

Json RegistryServer::release(const Json& request) {
  const int id = case_of(request);
  Json reply{{"released", id}};
  const auto found = cases_.find(id);
  if (found != cases_.end() && request.contains("conclude") && json_bool(request, "conclude", "request")) {
    const Conclusion conclusion = found->second->conclude();
    if (!conclusion.failure.empty()) require_survival(conclusion.failure);
    reply["conclusion"] = to_json(conclusion);
  }
  cases_.erase(id);
  return reply;
}

void RegistryServer::require_survival(const std::string& failure) const {
  const std::string lost = registry_.lost();
  if (!lost.empty()) throw ProcessLost(failure + "; " + lost);
}

}  // namespace headroom
