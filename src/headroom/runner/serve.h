// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/experiment/experiment.h"
#include "headroom/experiment/process_counters.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom/process/channel.h"
#include "headroom/runner/protocol.h"

namespace headroom {

/// A prepared case: the experiment's function, suspended inside State::measure on its own thread, so that
/// cases of one runner can be interleaved. Only one thread runs at a time; the caller and all other cases
/// wait.
class CaseThread final : private SampleSource {
 public:
  /// Starts the experiment. Returns when it waits in measure() or ended before.
  CaseThread(const Experiment& experiment, CaseSpec spec, SharedObjects& shared);
  /// Lets measure() return and waits for the function to end.
  ~CaseThread() override;
  /// Ends the case like the destructor and returns its conclusion. Nothing can be asked of it afterwards.
  Conclusion conclude();
  CaseThread(const CaseThread&) = delete;
  CaseThread& operator=(const CaseThread&) = delete;

  /// Constant for the lifetime of this.
  const PrepareReply& prepared() const { return prepared_; }
  /// Requires prepared() to say that the case is ready.
  SampleReply sample(const SampleRequest& request);

 private:
  enum class Turn { kCaller, kCase };

  void ready(const CaseInfo& info) override;
  std::optional<SampleRequest> next() override;
  void deliver(const Sample& sample) override;
  bool is_concluding() const override { return concluding_; }
  void on_server(const std::function<void()>& work) override;

  /// Waits for the caller's turn, and runs what the case asks of its thread meanwhile.
  void attend();
  void end();
  void run(const Experiment& experiment, const CaseSpec& spec, SharedObjects& shared);
  void hand_over_to(Turn turn);
  void await(Turn turn);

  std::mutex mutex_;
  std::condition_variable changed_;
  Turn turn_ = Turn::kCase;
  bool released_ = false;
  bool concluding_ = false;
  bool is_ready_ = false;
  bool ended_ = false;
  PrepareReply prepared_;
  std::optional<SampleRequest> request_;
  const std::function<void()>* errand_ = nullptr;  ///< what the caller's thread is to run; does not throw
  bool is_pinned_ = false;
  bool is_server_pinned_ = false;
  SampleReply reply_;
  Conclusion conclusion_;
  std::thread thread_;
};

/// Thrown if this process can measure nothing more.
struct ProcessLost : Error {
  using Error::Error;
};

/// The runner's side of one conversation in the protocol of protocol.h, with the prepared cases by number.
class RegistryServer {
 public:
  /// `registry` must outlive this. `counters` count the work of cases.
  explicit RegistryServer(const Registry& registry, ProcessCounters counters = ProcessCounters())
      : registry_(registry), counters_(std::move(counters)) {}

  /// Whether any hardware event can be counted.
  bool counts() const { return counters_.any(); }

  /// Returns the reply to a request other than {"do": "quit"}. Throws Error for an invalid request,
  /// ProcessLost if the process cannot go on.
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

/// Takes the socket inherited from the command line (kSocketVariable) and removes the variable, so that
/// children do not use it. Nothing if it is not set. Throws Error if it is not a descriptor.
std::optional<Channel> inherited_channel();

/// Serves `registry` as runner `name` over `channel` until it closes or says quit. Answers invalid requests
/// with {"error": reason}. Sends that in place of a greeting if the registry's requirements are not met or it
/// rejects `arguments`. Returns after a failure that the process does not survive
/// (Registry::end_where_lost_with). The process dies with its parent.
void serve(Channel channel, Registry& registry, const std::string& name,
           const std::vector<std::string>& arguments = {});

/// What a thread that serves looks after beside the conversation.
struct Attention {
  /// Called when a signal arrives while no request is there, and twice a second. An exception ends the
  /// conversation.
  std::function<void()> look;
  /// Whether the reply that is ready is sent: not for a request that was interrupted.
  std::function<bool()> replies;
};

/// Like serve(), in a process that goes on when the other end closes.
void converse(Channel channel, Registry& registry, const std::string& name,
              const std::vector<std::string>& arguments = {}, const Attention& attention = {});

}  // namespace headroom
