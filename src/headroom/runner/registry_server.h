// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/experiment/process_counters.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom/runner/case_thread.h"

namespace headroom {

/// A failure after which this process can measure nothing more.
struct ProcessLost : Error {
  using Error::Error;
};

/// One conversation in the language of protocol.h, on the side of the runner: the cases that are prepared
/// now, by number.
class RegistryServer {
 public:
  /// `registry` must outlive this. `counters`: what counts the work of cases.
  explicit RegistryServer(const Registry& registry, ProcessCounters counters = ProcessCounters())
      : registry_(registry), counters_(std::move(counters)) {}

  /// Whether it can count anything of what a case does.
  bool counts() const { return counters_.any(); }

  /// The reply to one request but {"do": "quit"}. Throws Error where it does not understand it, ProcessLost
  /// where it cannot go on after it.
  Json answer(const Json& request);

 private:
  Json descriptions() const;
  Json prepare(const Json& request);
  Json sample(const Json& request);
  Json count(const Json& request);
  Json trace(const Json& request);
  Json release(const Json& request);
  CaseThread& prepared(const Json& request);
  void require_survival(const std::string& failure) const;

  const Registry& registry_;
  const ProcessCounters counters_;
  SharedObjects shared_;
  std::map<int, std::unique_ptr<CaseThread>> cases_;
};

}  // namespace headroom
