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

/// A prepared case, suspended in State::measure on a separate thread, so that cases can be interleaved. Only
/// one thread runs at a time.
class CaseThread final : private SampleSource {
 public:
  /// Returns when the experiment waits in measure() or has ended.
  CaseThread(const Experiment& experiment, CaseSpec spec, SharedObjects& shared);
  /// Ends measure() and joins the thread.
  ~CaseThread() override;
  /// The case cannot be sampled afterwards.
  Conclusion conclude();
  CaseThread(const CaseThread&) = delete;
  CaseThread& operator=(const CaseThread&) = delete;

  const PrepareReply& prepared() const { return prepared_; }
  /// prepared() must be ready.
  SampleReply sample(const SampleRequest& request);

 private:
  enum class Turn { kCaller, kCase };

  void ready(const CaseInfo& info) override;
  std::optional<SampleRequest> next() override;
  void deliver(const Sample& sample) override;
  bool is_concluding() const override { return concluding_; }
  void on_server(const std::function<void()>& work) override;

  /// Waits for the caller's turn; runs on_server() work meanwhile.
  void attend();
  void end();
  void run(const Experiment& experiment, const CaseSpec& spec, SharedObjects& shared);
  void pass_turn(Turn turn);
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
  const std::function<void()>* server_task_ = nullptr;  ///< work for the caller's thread; must not throw
  bool is_pinned_ = false;
  bool is_server_pinned_ = false;
  SampleReply reply_;
  Conclusion conclusion_;
  std::thread thread_;
};

/// This process cannot measure any more.
struct ProcessLost : Error {
  using Error::Error;
};

class RegistryServer {
 public:
  /// `registry` must outlive this.
  explicit RegistryServer(const Registry& registry, ProcessCounters counters = ProcessCounters())
      : registry_(registry), counters_(std::move(counters)) {}

  bool counts() const { return counters_.any(); }

  /// Answers any request but "quit". Throws Error for an invalid one, ProcessLost if the process cannot go
  /// on.
  Json answer(const Json& request);

 private:
  Json descriptions() const;
  Json prepare(const Json& request);
  Json sample(const Json& request);
  Json count(const Json& request);
  Json trace(const Json& request);
  Json release(const Json& request);
  CaseThread& prepared(const Json& request);
  void require_usable_process(const std::string& failure) const;

  const Registry& registry_;
  const ProcessCounters counters_;
  SharedObjects shared_;
  std::map<int, std::unique_ptr<CaseThread>> cases_;
};

/// Takes the socket of kSocketVariable and unsets it for children. Nullopt if unset; throws Error if it is
/// not a descriptor.
std::optional<Channel> inherited_channel();

/// Serves until the channel closes or "quit". Answers invalid requests with {"error": reason}; greets with
/// that if the registry's requirements are not met or it rejects `arguments`. Returns after a fatal failure
/// (Registry::end_where_lost_with). The process dies with its parent.
void serve(Channel channel, Registry& registry, const std::string& name,
           const std::vector<std::string>& arguments = {});

struct IdleHooks {
  /// Called twice a second and on signals while idle. Exceptions end the conversation.
  std::function<void()> look;
  /// Whether to send the ready reply; false after an interrupt.
  std::function<bool()> replies;
};

/// Like serve(), but the process survives the other end.
void serve_connection(Channel channel, Registry& registry, const std::string& name,
                      const std::vector<std::string>& arguments = {}, const IdleHooks& idle_hooks = {});

}  // namespace headroom
