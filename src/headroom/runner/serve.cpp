// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>

#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/experiment/buffer.h"
#include "headroom/process/affinity.h"

namespace headroom {
namespace {

/// An empty failure would read as a sample.
std::string non_empty_reason(std::string reason, const char* otherwise) {
  return reason.empty() ? std::string(otherwise) : std::move(reason);
}

SampleReply failed_reply(std::string reason) {
  SampleReply reply;
  reply.failure = std::move(reason);
  return reply;
}

Outcome outcome_of(const Experiment& experiment, const CaseSpec& spec, SampleSource& source,
                   SharedObjects& shared, Conclusion& conclusion) {
  try {
    State state(spec, source, shared);
    experiment.function()(state);
    conclusion = state.conclusion();
    return {};
  } catch (const SkipCase& skip) {
    return {Outcome::Kind::kSkipped, non_empty_reason(skip.reason, "skipped without a reason")};
  } catch (const WrongAnswer& wrong) {
    return {Outcome::Kind::kFailed, wrong.reason};
  } catch (const std::bad_alloc&) {
    return {Outcome::Kind::kFailed, "out of memory"};
  } catch (const std::exception& error) {
    return {Outcome::Kind::kFailed, non_empty_reason(error.what(), "threw an exception without a message")};
  } catch (...) {
    return {Outcome::Kind::kFailed, "threw something that is not a std::exception"};
  }
}

int case_of(const Json& request) {
  return json_member_as<int>(request, "case", "request");
}

SampleRequest sample_of(const Json& request) {
  const SampleRequest wanted{json_member_as<std::uint64_t>(request, "iterations", "request"),
                             json_member_as<std::uint64_t>(request, "lead_in", "request")};
  if (wanted.iterations == 0) throw Error("request/iterations: expected at least one");
  return wanted;
}

Channel::Status next_line(Channel& channel, std::string& line, const IdleHooks& idle_hooks) {
  constexpr int kPollMs = 500;
  if (!idle_hooks.look) return channel.read_line(line, std::chrono::milliseconds(-1));
  while (true) {
    const Channel::Status status = channel.read_line(line, std::chrono::milliseconds(0));
    if (status != Channel::Status::kTimeout) return status;
    pollfd entry{channel.fd(), POLLIN, 0};
    if (poll(&entry, 1, kPollMs) <= 0) idle_hooks.look();
  }
}

}  // namespace

CaseThread::CaseThread(const Experiment& experiment, CaseSpec spec, SharedObjects& shared) {
  thread_ =
      std::thread([this, &experiment, spec = std::move(spec), &shared] { run(experiment, spec, shared); });
  attend();
}

CaseThread::~CaseThread() {
  if (thread_.joinable()) end();
}

Conclusion CaseThread::conclude() {
  concluding_ = !ended_;
  end();
  return std::move(conclusion_);
}

void CaseThread::attend() {
  await(Turn::kCaller);
  while (server_task_ != nullptr) {
    (*std::exchange(server_task_, nullptr))();
    pass_turn(Turn::kCase);
    await(Turn::kCaller);
  }
}

void CaseThread::on_server(const std::function<void()>& work) {
  std::exception_ptr failure;
  const std::function<void()> server_task = [&] {
    try {
      if (is_pinned_ && !std::exchange(is_server_pinned_, true)) pin_this_thread(allowed_cpus().back());
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  server_task_ = &server_task;
  pass_turn(Turn::kCaller);
  await(Turn::kCase);
  if (failure) std::rethrow_exception(failure);
}

void CaseThread::end() {
  const bool has_ended = ended_;
  {
    const std::lock_guard lock(mutex_);
    released_ = true;
    request_.reset();
    turn_ = Turn::kCase;
  }
  changed_.notify_all();
  if (!has_ended) attend();
  thread_.join();
}

void CaseThread::run(const Experiment& experiment, const CaseSpec& spec, SharedObjects& shared) {
  // Compared cases must share a CPU: under load from another program each thread would stay where it woke,
  // and CPUs would differ instead of cases.
  is_pinned_ = spec.threads == 1 && !experiment.is_placing_itself();
  if (is_pinned_) pin_this_thread(allowed_cpus().back());
  Outcome outcome = outcome_of(experiment, spec, *this, shared, conclusion_);
  if (outcome.kind == Outcome::Kind::kMeasured && !released_) {
    outcome = {Outcome::Kind::kFailed,
               is_ready_ ? "returned from measure() early" : "the experiment never called measure()"};
  }
  if (!is_ready_) prepared_.outcome = outcome;
  reply_ = failed_reply(outcome.reason);
  conclusion_.failure = outcome.reason;
  ended_ = true;
  pass_turn(Turn::kCaller);
}

SampleReply CaseThread::sample(const SampleRequest& request) {
  if (ended_) return failed_reply(reply_.failure.empty() ? "the case has ended" : reply_.failure);
  request_ = request;
  pass_turn(Turn::kCase);
  attend();
  return reply_;
}

void CaseThread::ready(const CaseInfo& info) {
  prepared_.outcome.kind = Outcome::Kind::kMeasured;
  prepared_.info = info;
  is_ready_ = true;
}

std::optional<SampleRequest> CaseThread::next() {
  pass_turn(Turn::kCaller);
  await(Turn::kCase);
  return std::exchange(request_, std::nullopt);
}

void CaseThread::deliver(const Sample& sample) {
  reply_.sample = sample;
  reply_.failure.clear();
}

void CaseThread::pass_turn(Turn turn) {
  {
    const std::lock_guard lock(mutex_);
    turn_ = turn;
  }
  changed_.notify_all();
}

void CaseThread::await(Turn turn) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return turn_ == turn; });
}

Json RegistryServer::answer(const Json& request) {
  const std::string what = json_string(request, "do", "request");
  if (what == "describe") return descriptions();
  if (what == "prepare") return prepare(request);
  if (what == "sample") return sample(request);
  if (what == "count") return count(request);
  if (what == "trace") return trace(request);
  if (what == "release") return release(request);
  throw Error("unknown request " + quote(what));
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
  if (experiment == nullptr) throw Error("no experiment " + quote(spec.experiment));
  const int id = case_of(request);
  cases_.erase(id);
  auto made = std::make_unique<CaseThread>(*experiment, std::move(spec), shared_);
  const Outcome& outcome = made->prepared().outcome;
  if (outcome.kind == Outcome::Kind::kFailed) require_usable_process(outcome.reason);
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
  if (!reply.failure.empty()) require_usable_process(reply.failure);
  return to_json(reply);
}

/// A failure to count is not fatal.
Json RegistryServer::count(const Json& request) {
  CaseThread& made = prepared(request);
  SampleRequest wanted = sample_of(request);
  CountReply counted;
  const RunWrapper wrapper = [&](const std::function<void()>& run) {
    try {
      counted.counts = counters_.count(run);
    } catch (const Error& error) {
      counted.failure = error.what();
    }
  };
  SampleReply reply;
  // Counters must not count the lead-in.
  if (wanted.lead_in > 0) reply = made.sample({std::exchange(wanted.lead_in, 0), 0});
  wanted.wrapper = &wrapper;
  if (reply.failure.empty()) reply = made.sample(wanted);
  if (!reply.failure.empty()) {
    require_usable_process(reply.failure);
    counted.failure = reply.failure;
  }
  return to_json(counted);
}

/// A failure to record is not fatal.
Json RegistryServer::trace(const Json& request) {
  CaseThread& made = prepared(request);
  const std::string file = json_string(request, "file", "request");
  std::string problem = registry_.tracer() ? "" : "this runner cannot record traces";
  if (!problem.empty()) return {{"untraced", problem}};
  const RunWrapper wrapper = [&](const std::function<void()>& run) {
    try {
      registry_.tracer()(file, run);
    } catch (const std::exception& error) {
      problem = error.what();
    }
  };
  const SampleReply reply = made.sample({kTracedIterations, 0, &wrapper});
  if (!reply.failure.empty()) problem = reply.failure;
  if (!problem.empty()) require_usable_process(problem);
  if (!problem.empty()) return {{"untraced", problem}};
  return {{"traced", file}};
}

Json RegistryServer::release(const Json& request) {
  const int id = case_of(request);
  Json reply{{"released", id}};
  const auto found = cases_.find(id);
  if (found != cases_.end() && request.contains("conclude") && json_bool(request, "conclude", "request")) {
    const Conclusion conclusion = found->second->conclude();
    if (!conclusion.failure.empty()) require_usable_process(conclusion.failure);
    reply["conclusion"] = to_json(conclusion);
  }
  cases_.erase(id);
  return reply;
}

void RegistryServer::require_usable_process(const std::string& failure) const {
  const std::string lost = registry_.lost();
  if (!lost.empty()) throw ProcessLost(failure + "; " + lost);
}

std::optional<Channel> inherited_channel() {
  const char* text = std::getenv(kSocketVariable);
  if (text == nullptr) return std::nullopt;
  const auto fd = to_integer(text);
  if (!fd || !std::in_range<int>(*fd) || *fd < 0 || fcntl(static_cast<int>(*fd), F_GETFD) < 0) {
    throw Error(std::string(kSocketVariable) + "=" + text +
                " is not an open descriptor; headroom sets this variable for its runners: unset it");
  }
  fcntl(static_cast<int>(*fd), F_SETFD, FD_CLOEXEC);
  unsetenv(kSocketVariable);
  return Channel(static_cast<int>(*fd));
}

void serve(Channel channel, Registry& registry, const std::string& name,
           const std::vector<std::string>& arguments) {
  // A looping runner must not outlive its parent.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  serve_connection(std::move(channel), registry, name, arguments);
}

void serve_connection(Channel channel, Registry& registry, const std::string& name,
                      const std::vector<std::string>& arguments, const IdleHooks& idle_hooks) {
  try {
    static_cast<void>(page_policy());  // validates the variable before any case
    registry.require();
    registry.take_arguments(arguments);
  } catch (const std::exception& error) {
    channel.write_line(dump_json({{"error", error.what()}}));
    return;
  }
  RegistryServer server(registry);
  const bool traces = registry.tracer() != nullptr;
  const Hello hello{name, HEADROOM_VERSION, kProtocolVersion, traces, true, server.counts()};
  if (!channel.write_line(dump_json(to_json(hello)))) return;
  std::string line;
  while (next_line(channel, line, idle_hooks) == Channel::Status::kLine) {
    Json request, reply;
    try {
      request = parse_json(line, "request");
      if (request.is_object() && request.value("do", "") == "quit") return;
      reply = server.answer(request);
    } catch (const ProcessLost& lost) {
      channel.write_line(dump_json({{"error", lost.what()}}));
      return;
    } catch (const std::exception& error) {
      reply = {{"error", error.what()}};
    }
    if (idle_hooks.replies && !idle_hooks.replies()) continue;
    if (request.is_object() && request.contains("id")) reply["id"] = request["id"];
    if (!channel.write_line(dump_json(reply))) return;
  }
}

}  // namespace headroom
