// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/runner.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "headroom/base/text.h"

namespace headroom {

/// The ranks of a job as one runner: all get the same requests (runner/protocol.h); replies are merged. A
/// sample takes the slowest rank's time; an idle rank reports 0 ns. A case fails if it fails on any rank. A
/// lost rank ends the job: RunnerLost is final.
class RankRunner final : public Runner {
 public:
  /// Waits until the ranks have met. Throws like RankConversation's constructor.
  RankRunner(RankGroup ranks, RankTimeouts timeouts, const std::atomic<bool>& interrupted,
             double deadline_ns);

  void require_backend(const std::string& backend) { conversation_.require_backend(backend); }

  RunnerOffer describe() override;
  void finish() override;

  std::int64_t pid() const override { return ranks_.pid(0); }
  PrepareReply prepare(int id, const CaseSpec& spec) override;
  SampleReply sample(int id, const SampleRequest& request) override;
  CountReply count(int id, const SampleRequest& request) override;
  std::string trace(int id, const std::string& file) override;
  void release(int id) override;
  std::vector<Conclusion> conclude(int id) override;

 private:
  std::vector<Json> ask(const Json& request, const std::string& awaited);
  template <typename Decode>
  auto decode_reply(Decode&& decode);

  const std::atomic<bool>& interrupted_;
  RankGroup ranks_;
  RankConversation conversation_;
  std::map<int, std::string> titles_;  ///< by case number
};

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kChildSocket = 3;
constexpr milliseconds kInterruptPoll{200};

constexpr const char* kEnded = "closed its socket";
constexpr const char* kUnasked = "broke the protocol: it sent a message without a request";
constexpr const char* kTooLong = "broke the protocol: it sent a line that is too long";
/// Its exit status says why it closed its socket.
constexpr milliseconds kProcessEndTimeout{2000};

/// GNU OpenMP's threads would spin for milliseconds after a parallel region and disturb the next runner.
constexpr const char* kSpins = "20000";

SpawnOptions spawn_options(const RunnerCommand& command, int socket) {
  std::vector<std::string> words = command.interpreter;
  words.push_back(command.path);
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  SpawnOptions options{words, {{kSocketVariable, std::to_string(kChildSocket)}}, {{socket, kChildSocket}}};
  if (std::getenv("GOMP_SPINCOUNT") == nullptr && std::getenv("OMP_WAIT_POLICY") == nullptr) {
    options.environment.emplace_back("GOMP_SPINCOUNT", kSpins);
  }
  options.environment.insert(options.environment.end(), command.environment.begin(),
                             command.environment.end());
  return options;
}

std::int64_t peer_pid(int socket) {
  ucred other{};
  socklen_t size = sizeof other;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) return 0;
  return other.pid;
}

constexpr milliseconds kRankEndTimeout{10'000};

RunnerOffer offer_of(const Hello& hello, const Json& description) {
  RunnerOffer offer{hello.name, descriptions_from_json(description)};
  offer.traces = hello.traces;
  offer.counts = hello.counts;
  offer.blas = blas_of_json(description);
  return offer;
}

}  // namespace

RunnerProcess::RunnerProcess(RunnerCommand command, const std::atomic<bool>& interrupted, double deadline_ns)
    : RunnerProcess(command, interrupted, deadline_ns,
                    command.socket ? std::pair(Channel(*command.socket), Channel(-1)) : Channel::pair()) {}

RunnerProcess::RunnerProcess(RunnerCommand command, const std::atomic<bool>& interrupted, double deadline_ns,
                             std::pair<Channel, Channel> ends)
    : Runner(deadline_ns),
      command_(std::move(command)),
      interrupted_(interrupted),
      channel_(std::move(ends.first)) {
  if (command_.socket) {
    if (channel_.fd() < 0) throw Error("it is part of a program that cannot be restarted");
    pid_ = peer_pid(channel_.fd());
  } else {
    child_.emplace(spawn_options(command_, ends.second.fd()));
    pid_ = child_->pid();
    const Channel childs_end = std::move(ends.second);
  }
  greet();
}

RunnerProcess::~RunnerProcess() {
  channel_.write_line(R"({"do":"quit"})", milliseconds(100));
  if (child_ && !child_->wait(milliseconds(100))) child_->terminate(milliseconds(0));
}

void RunnerProcess::greet() {
  std::string line;
  try {
    // Arguments are processed before the greeting.
    const bool is_long = !command_.arguments.empty() || !command_.interpreter.empty();
    line = wait_for_line(is_long ? command_.reply_timeout : command_.hello_timeout);
  } catch (const RunnerLost& lost) {
    throw_not_a_runner(lost.reason);
  }
  std::string refusal;
  try {
    const Json greeting = parse_json(line, "its greeting");
    if (greeting.is_object() && greeting.contains("error")) {
      refusal = json_string(greeting, "error", "");
    } else {
      hello_ = hello_from_json(greeting);
    }
  } catch (const Error& error) {
    throw RunnerUnusable(quote(command_.path) + " is not a headroom runner: " + error.what());
  }
  if (!refusal.empty()) throw RunnerRefused(refusal);
  if (hello_.protocol != kProtocolVersion) {
    throw RunnerUnusable(fmt::format(
        "runner '{}' speaks protocol {}, this headroom speaks {}; rebuild it against this version",
        command_.path, hello_.protocol, kProtocolVersion));
  }
}

void RunnerProcess::throw_not_a_runner(const std::string& what) const {
  if (command_.interpreter.empty()) {
    throw RunnerUnusable(quote(command_.path) + " is not a headroom runner: it " + what +
                         "; a runner is a program that links headroom::runner (if its libraries load slowly, "
                         "raise --timeout)");
  }
  const std::string& python = command_.interpreter.front();
  throw RunnerUnusable(python + " cannot serve " + quote(command_.path) + ": it " + what +
                       (what.find("No module named headroom") == std::string::npos
                            ? ""
                            : "; install headroom into it (" + python +
                                  " -m pip install headroom), or name another Python in HEADROOM_PYTHON"));
}

template <typename Decode>
auto RunnerProcess::decode_reply(Decode&& decode) {
  try {
    return decode();
  } catch (const Error& error) {
    throw_lost(std::string("broke the protocol: ") + error.what());
  }
}

RunnerOffer RunnerProcess::describe() {
  const Json reply = ask({{"do", "describe"}});
  return decode_reply([&] {
    RunnerOffer found = offer_of(hello_, reply);
    if (!reply.contains("devices")) return found;
    for (const Json& device : json_array(reply, "devices", "")) {
      found.devices.push_back(device_from_json(device));
    }
    return found;
  });
}

PrepareReply RunnerProcess::prepare(int id, const CaseSpec& spec) {
  const Json reply = ask({{"do", "prepare"}, {"case", id}, {"spec", to_json(spec)}});
  return decode_reply([&] { return prepare_reply_from_json(reply); });
}

SampleReply RunnerProcess::sample(int id, const SampleRequest& request) {
  const Json reply =
      ask({{"do", "sample"}, {"case", id}, {"iterations", request.iterations}, {"lead_in", request.lead_in}});
  return decode_reply([&] {
    SampleReply sampled = sample_reply_from_json(reply);
    if (sampled.failure.empty() && sampled.sample.iterations != request.iterations) {
      throw Error(fmt::format("it sent a sample of {} iterations instead of {}", sampled.sample.iterations,
                              request.iterations));
    }
    return sampled;
  });
}

CountReply RunnerProcess::count(int id, const SampleRequest& request) {
  const Json reply =
      ask({{"do", "count"}, {"case", id}, {"iterations", request.iterations}, {"lead_in", request.lead_in}});
  return decode_reply([&] { return count_reply_from_json(reply); });
}

std::string RunnerProcess::trace(int id, const std::string& file) {
  const Json reply = ask({{"do", "trace"}, {"case", id}, {"file", file}});
  return decode_reply([&] {
    if (reply.is_object() && reply.contains("untraced")) return json_string(reply, "untraced", "");
    json_string(reply, "traced", "");
    return std::string();
  });
}

void RunnerProcess::release(int id) {
  ask({{"do", "release"}, {"case", id}});
}

std::vector<Conclusion> RunnerProcess::conclude(int id) {
  const Json reply = ask({{"do", "release"}, {"case", id}, {"conclude", true}});
  return decode_reply([&] { return std::vector{conclusion_from_json(reply)}; });
}

Json RunnerProcess::ask(Json request) {
  if (!channel_.is_quiet()) throw_lost(kUnasked);
  request["id"] = ++last_request_;
  const auto gives_up = [this] { return interrupted_.load(); };
  if (!channel_.write_line(dump_json(request), command_.reply_timeout, gives_up)) {
    if (interrupted_) throw Interrupted{};
    throw_lost(kEnded);
  }
  const std::string line = wait_for_line(command_.reply_timeout);
  return decode_reply([&] {
    Json reply = parse_json(line, "its answer");
    if (reply.is_object() && reply.contains("error"))
      throw_lost("refused " + json_string(request, "do", "") + ": " + json_string(reply, "error", ""));
    if (!hello_.ids) return reply;
    const auto id = json_member_as<std::uint64_t>(reply, "id", "");
    if (id != last_request_)
      throw Error(fmt::format("it answered request {} instead of {}", id, last_request_));
    return reply;
  });
}

std::string RunnerProcess::wait_for_line(milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  std::string line;
  while (!channel_.buffered_line(line)) {
    if (interrupted_) throw Interrupted{};
    if (is_late()) throw_timeout();
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (left <= milliseconds(0)) {
      throw_lost(fmt::format("did not answer within {} s", std::chrono::duration<double>(timeout).count()));
    }
    pollfd files[] = {{channel_.fd(), POLLIN, 0},
                      {child_ ? child_->stdout_fd() : -1, POLLIN, 0},
                      {child_ ? child_->stderr_fd() : -1, POLLIN, 0}};
    poll(files, std::size(files), static_cast<int>(std::min(left, kInterruptPoll).count()));
    if (child_) child_->drain();
    if ((files[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    const Channel::Status status = channel_.receive();
    if (status == Channel::Status::kTooLong) throw_lost(kTooLong);
    if (status != Channel::Status::kLine) throw_lost(kEnded);
  }
  return line;
}

void RunnerProcess::throw_lost(const std::string& what) {
  lost_ = true;
  if (!child_) throw RunnerLost{what};
  const auto status = child_->wait(what == kEnded ? kProcessEndTimeout : milliseconds(0));
  if (!status) child_->terminate(milliseconds(200));
  std::string reason = what;
  if (status && (status->signalled || what == kEnded))
    reason = (status->signalled ? "was " : "ended with ") + status->text();
  if (status && status->signalled && status->code == SIGKILL) reason += ", perhaps out of memory";
  throw RunnerLost{reason + last_output(*child_)};
}

RankRunner::RankRunner(RankGroup ranks, RankTimeouts timeouts, const std::atomic<bool>& interrupted,
                       double deadline_ns)
    : Runner(deadline_ns),
      interrupted_(interrupted),
      ranks_(std::move(ranks)),
      conversation_(ranks_, timeouts, [this] { return interrupted_.load() || is_late(); }) {}

std::vector<Json> RankRunner::ask(const Json& request, const std::string& awaited) {
  try {
    return conversation_.ask(request, awaited);
  } catch (const Interrupted&) {
    if (!interrupted_) throw_timeout();
    throw;
  } catch (const Error& error) {
    throw RunnerLost{error.what(), true};
  }
}

template <typename Decode>
auto RankRunner::decode_reply(Decode&& decode) {
  try {
    return decode();
  } catch (const Error& error) {
    throw RunnerLost{std::string("a rank broke the protocol: ") + error.what(), true};
  }
}

RunnerOffer RankRunner::describe() {
  const std::vector<Json> replies = ask({{"do", "describe"}}, "its list of experiments");
  return decode_reply([&] {
    RunnerOffer found = offer_of({"torch-rank", "", kProtocolVersion, true}, replies.front());
    found.ranks = conversation_.hellos();
    return found;
  });
}

void RankRunner::finish() {
  try {
    ranks_.finish(kRankEndTimeout);
  } catch (const RankLost& lost) {
    throw RunnerLost{lost.what(), true};
  }
}

PrepareReply RankRunner::prepare(int id, const CaseSpec& spec) {
  titles_[id] = case_title(spec.experiment, spec.axes);
  const std::vector<Json> replies =
      ask({{"do", "prepare"}, {"case", id}, {"spec", to_json(spec)}}, titles_[id] + " as ready");
  PrepareReply merged;
  if (const std::string why = refusal(replies); !why.empty()) {
    merged.outcome = {Outcome::Kind::kFailed, why};
  } else {
    merged = decode_reply([&] {
      PrepareReply first = prepare_reply_from_json(replies.front());
      for (const Json& reply : replies) {
        const Outcome outcome = prepare_reply_from_json(reply).outcome;
        if (first.outcome.kind == Outcome::Kind::kMeasured) first.outcome = outcome;
      }
      return first;
    });
  }
  // Otherwise prepared ranks would wait for the failed ones.
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
  return decode_reply([&] {
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
  return {{}, "hardware counters are not available for ranks"};
}

std::string RankRunner::trace(int id, const std::string& file) {
  const std::vector<Json> replies =
      ask({{"do", "trace"}, {"case", id}, {"file", file}}, "a trace of " + titles_[id]);
  if (const std::string why = refusal(replies); !why.empty()) return why;
  return decode_reply([&] {
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
      ask({{"do", "release"}, {"case", id}, {"conclude", true}}, "its conclusions about " + titles_[id]);
  titles_.erase(id);
  if (const std::string why = refusal(replies); !why.empty()) return {{why}};
  return decode_reply([&] {
    std::vector<Conclusion> conclusions;
    for (const Json& reply : replies) conclusions.push_back(conclusion_from_json(reply));
    return conclusions;
  });
}

double steady_now_ns() {
  return std::chrono::duration<double, std::nano>(Clock::now().time_since_epoch()).count();
}

std::unique_ptr<Runner> start_runner(const RunnerCommand& command, const std::atomic<bool>& interrupted,
                                     double deadline_ns) {
  if (steady_now_ns() >= deadline_ns) throw OutOfTime{};
  if (!command.start_ranks) return std::make_unique<RunnerProcess>(command, interrupted, deadline_ns);
  try {
    auto ranks = std::make_unique<RankRunner>(command.start_ranks(),
                                              RankTimeouts{command.hello_timeout, command.reply_timeout},
                                              interrupted, deadline_ns);
    ranks->require_backend(command.rank_backend);
    return ranks;
  } catch (const Interrupted&) {
    if (interrupted) throw;
    throw OutOfTime{};
  }
}

void RunnerFleet::start(Member& member) const {
  const double begin_ns = steady_now_ns();
  member.process = start_runner(member.command, interrupted_, deadline_ns_);
  member.start_ns = steady_now_ns() - begin_ns;
  member.is_used = false;
}

void RunnerFleet::add(RunnerCommand command, bool only_limits) {
  Member member{std::move(command)};
  try {
    start(member);
    if (member.command.socket) member.command.socket = -1;  // cannot be restarted
  } catch (const RunnerRefused& refusal) {
    if (!member.command.may_refuse) throw;
    left_out_.push_back(std::filesystem::path(member.command.path).filename().string() + ": " +
                        refusal.what());
    return;
  }
  try {
    member.offer = member.process->describe();
  } catch (const RunnerLost& lost) {
    throw RunnerUnusable("runner " + member.command.path + " did not list its experiments: it " +
                         lost.reason);
  }
  member.offer.only_limits = only_limits;
  member.offer.is_companion = member.command.is_companion;
  members_.push_back(std::move(member));
}

std::vector<RunnerOffer> RunnerFleet::offers() const {
  std::vector<RunnerOffer> offers;
  for (std::size_t index = 0; index < members_.size(); ++index) {
    offers.push_back(members_[index].offer);
    offers.back().label = label_of(index);
  }
  return offers;
}

std::string RunnerFleet::label_of(std::size_t index) const {
  const Member& member = members_[index];
  if (!member.command.label.empty()) return member.command.label;
  const bool is_taken = std::ranges::any_of(members_, [&](const Member& other) {
    return &other != &member && other.offer.label == member.offer.label &&
           (!other.offer.only_limits || member.offer.only_limits);
  });
  if (!is_taken) return member.offer.label;
  const auto earlier =
      std::count_if(members_.begin(), members_.begin() + static_cast<std::ptrdiff_t>(index),
                    [&](const Member& other) { return other.command.path == member.command.path; });
  return earlier == 0 ? member.command.path : member.command.path + "#" + std::to_string(earlier + 1);
}

Worker& RunnerFleet::at(std::size_t runner) {
  Member& member = members_.at(runner);
  if (!member.process) {
    if (member.has_timed_out && member.command.socket) throw OutOfTime{};
    try {
      start(member);
    } catch (const Error& error) {
      throw RunnerLost{std::string("could not be restarted: ") + error.what()};
    }
  }
  member.is_used = true;
  return *member.process;
}

void RunnerFleet::finish() {
  for (Member& member : members_) {
    if (member.process) member.process->finish();
    member.process.reset();
  }
}

void RunnerFleet::stop(std::size_t runner) {
  const Member& member = members_.at(runner);
  if (member.command.socket && member.process && !member.process->is_lost()) return;
  members_.at(runner).has_timed_out = member.process && member.process->has_timed_out();
  members_.at(runner).process.reset();
}

void RunnerFleet::renew(std::size_t runner) {
  if (members_.at(runner).is_used) stop(runner);
}

void RunnerFleet::set_deadline(double ns) {
  deadline_ns_ = ns;
  for (Member& member : members_) {
    if (member.process) member.process->set_deadline(ns);
  }
}

}  // namespace headroom
