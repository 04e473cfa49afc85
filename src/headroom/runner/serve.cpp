// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/serve.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/runner/blas_protocol.h"
#include "headroom/runner/case_thread.h"
#include "headroom/runner/device_protocol.h"
#include "headroom/runner/json_integer.h"
#include "headroom/runner/protocol.h"

namespace headroom {
namespace {

/// A failure after which this process can measure nothing more.
struct ProcessLost : Error {
  using Error::Error;
};

/// One conversation: the cases that are prepared now, by number.
class Session {
 public:
  explicit Session(const Registry& registry) : registry_(registry) {}

  Json answer(const Json& request) {
    const std::string what = json_string(request, "do", "request");
    if (what == "describe") return descriptions();
    if (what == "prepare") return prepare(request);
    if (what == "sample") return sample(request);
    if (what == "trace") return trace(request);
    if (what == "release") return release(request);
    throw Error("unknown request " + in_quotes(what));
  }

 private:
  static int case_of(const Json& request) { return json_integer<int>(request, "case", "request"); }

  Json descriptions() const {
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

  Json prepare(const Json& request) {
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

  Json sample(const Json& request) {
    const auto found = cases_.find(case_of(request));
    if (found == cases_.end()) throw Error("that case is not prepared");
    const SampleRequest wanted{json_integer<std::uint64_t>(request, "iterations", "request", 1),
                               json_integer<std::uint64_t>(request, "lead_in", "request")};
    const SampleReply reply = found->second->sample(wanted);
    if (!reply.failure.empty()) require_survival(reply.failure);
    return to_json(reply);
  }

  /// Records one call of the case. That it cannot be recorded ends neither the case nor the run.
  Json trace(const Json& request) {
    const auto found = cases_.find(case_of(request));
    if (found == cases_.end()) throw Error("that case is not prepared");
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
    const SampleReply reply = found->second->sample({kTracedIterations, 0, &surround});
    if (!reply.failure.empty()) problem = reply.failure;
    if (!problem.empty()) require_survival(problem);
    if (!problem.empty()) return {{"untraced", problem}};
    return {{"traced", file}};
  }

  Json release(const Json& request) {
    const int id = case_of(request);
    cases_.erase(id);
    return {{"released", id}};
  }

  void require_survival(const std::string& failure) const {
    const std::string lost = registry_.lost();
    if (!lost.empty()) throw ProcessLost(failure + "; " + lost);
  }

  const Registry& registry_;
  SharedObjects shared_;
  std::map<int, std::unique_ptr<CaseThread>> cases_;
};

}  // namespace

std::optional<Channel> inherited_channel() {
  const char* text = std::getenv(kSocketVariable);
  if (text == nullptr) return std::nullopt;
  const auto fd = to_integer(text);
  if (!fd || !std::in_range<int>(*fd) || *fd < 0 || fcntl(static_cast<int>(*fd), F_GETFD) < 0) {
    throw Error(std::string(kSocketVariable) + "=" + text +
                " is not an open descriptor; this variable is set by headroom for its runners, unset it");
  }
  fcntl(static_cast<int>(*fd), F_SETFD, FD_CLOEXEC);
  unsetenv(kSocketVariable);
  return Channel(static_cast<int>(*fd));
}

void serve(Channel channel, Registry& registry, const std::string& name,
           const std::vector<std::string>& arguments) {
  // A runner in an endless loop must not outlive the command line that asked for it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    registry.require();
    registry.take_arguments(arguments);
  } catch (const std::exception& error) {
    channel.write_line(dump_json({{"error", error.what()}}));
    return;
  }
  const Hello hello{name, HEADROOM_VERSION, kProtocolVersion, registry.tracer() != nullptr};
  if (!channel.write_line(dump_json(to_json(hello)))) return;
  Session session(registry);
  std::string line;
  while (channel.read_line(line, std::chrono::milliseconds(-1)) == Channel::Status::kLine) {
    Json reply;
    try {
      const Json request = parse_json(line, "request");
      if (request.is_object() && request.value("do", "") == "quit") return;
      reply = session.answer(request);
    } catch (const ProcessLost& lost) {
      channel.write_line(dump_json({{"error", lost.what()}}));
      return;
    } catch (const std::exception& error) {
      reply = {{"error", error.what()}};
    }
    if (!channel.write_line(dump_json(reply))) return;
  }
}

}  // namespace headroom
