// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/runner_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/runner/blas_protocol.h"
#include "headroom/runner/device_protocol.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kChildSocket = 3;
constexpr milliseconds kLookForInterrupt{200};
constexpr std::size_t kLastWords = 3;
constexpr const char* kEnded = "closed its socket";
constexpr const char* kUnasked = "broke the protocol: it said something that it was not asked";
constexpr const char* kTooLong = "broke the protocol: it sent a line that does not end";
/// A runner that closed its socket is about to end: how it ended says more than that it did.
constexpr milliseconds kEndPatience{2000};

/// GNU OpenMP's threads spin for milliseconds after a parallel region: they would still burn the CPUs while
/// the next runner is sampled. This many spins are some tenths of a millisecond, enough for back-to-back
/// regions.
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

std::int64_t process_at_other_end(int socket) {
  ucred other{};
  socklen_t size = sizeof other;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) return 0;
  return other.pid;
}

}  // namespace

RunnerProcess::RunnerProcess(RunnerCommand command, const std::atomic<bool>& interrupted)
    : RunnerProcess(command, interrupted,
                    command.socket ? std::pair(Channel(*command.socket), Channel(-1)) : Channel::pair()) {}

RunnerProcess::RunnerProcess(RunnerCommand command, const std::atomic<bool>& interrupted,
                             std::pair<Channel, Channel> ends)
    : command_(std::move(command)), interrupted_(interrupted), channel_(std::move(ends.first)) {
  if (command_.socket) {
    if (channel_.fd() < 0) throw Error("the program that it is part of cannot be started anew");
    pid_ = process_at_other_end(channel_.fd());
  } else {
    child_.emplace(spawn_options(command_, ends.second.fd()));
    pid_ = child_->pid();
    // The child has its own copy; ours must close, or the end of the child would not be seen.
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
    // What its arguments ask for, it does before it greets: reading a module of gigabytes.
    const bool is_long = !command_.arguments.empty() || !command_.interpreter.empty();
    line = await_line(is_long ? command_.reply_timeout : command_.hello_timeout);
  } catch (const RunnerLost& lost) {
    tell_no_runner(lost.reason);
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
    throw RunnerUnfit(in_quotes(command_.path) + " is not a headroom runner: " + error.what());
  }
  if (!refusal.empty()) throw RunnerRefused(refusal);
  if (hello_.protocol != kProtocolVersion) {
    throw RunnerUnfit(fmt::format(
        "runner '{}' speaks protocol {}, this headroom speaks {}; rebuild it against this version",
        command_.path, hello_.protocol, kProtocolVersion));
  }
}

void RunnerProcess::tell_no_runner(const std::string& what) const {
  if (command_.interpreter.empty()) {
    throw RunnerUnfit(
        in_quotes(command_.path) + " is not a headroom runner: it " + what +
        "; a runner is a program that links headroom::runner (one whose libraries take longer to load: "
        "--timeout)");
  }
  const std::string& python = command_.interpreter.front();
  throw RunnerUnfit(python + " cannot serve " + in_quotes(command_.path) + ": it " + what +
                    (what.find("No module named headroom") == std::string::npos
                         ? ""
                         : "; install headroom into it (" + python +
                               " -m pip install headroom), or name another Python in HEADROOM_PYTHON"));
}

template <typename Decode>
auto RunnerProcess::understood(Decode&& decode) {
  try {
    return decode();
  } catch (const Error& error) {
    lose(std::string("broke the protocol: ") + error.what());
  }
}

RunnerDescription RunnerProcess::describe() {
  const Json reply = ask({{"do", "describe"}});
  return understood([&] {
    RunnerDescription found;
    found.experiments = descriptions_from_json(reply);
    found.blas = blas_of_json(reply);
    if (!reply.contains("devices")) return found;
    for (const Json& device : json_array(reply, "devices", "")) {
      found.devices.push_back(device_from_json(device));
    }
    return found;
  });
}

PrepareReply RunnerProcess::prepare(int id, const CaseSpec& spec) {
  const Json reply = ask({{"do", "prepare"}, {"case", id}, {"spec", to_json(spec)}});
  return understood([&] { return prepare_reply_from_json(reply); });
}

SampleReply RunnerProcess::sample(int id, const SampleRequest& request) {
  const Json reply =
      ask({{"do", "sample"}, {"case", id}, {"iterations", request.iterations}, {"lead_in", request.lead_in}});
  return understood([&] {
    SampleReply sampled = sample_reply_from_json(reply);
    if (sampled.failure.empty() && sampled.sample.iterations != request.iterations) {
      throw Error(fmt::format("a sample of {} iterations where {} were asked for", sampled.sample.iterations,
                              request.iterations));
    }
    return sampled;
  });
}

CountReply RunnerProcess::count(int id, const SampleRequest& request) {
  const Json reply =
      ask({{"do", "count"}, {"case", id}, {"iterations", request.iterations}, {"lead_in", request.lead_in}});
  return understood([&] { return count_reply_from_json(reply); });
}

std::string RunnerProcess::trace(int id, const std::string& file) {
  const Json reply = ask({{"do", "trace"}, {"case", id}, {"file", file}});
  return understood([&] {
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
  return understood([&] { return std::vector{conclusion_from_json(reply)}; });
}

Json RunnerProcess::ask(Json request) {
  if (!channel_.is_quiet()) lose(kUnasked);
  request["id"] = ++asked_;
  const auto gives_up = [this] { return interrupted_.load(); };
  if (!channel_.write_line(dump_json(request), command_.reply_timeout, gives_up)) {
    if (interrupted_) throw Interrupted{};
    lose(kEnded);
  }
  const std::string line = await_line(command_.reply_timeout);
  return understood([&] {
    Json reply = parse_json(line, "its answer");
    if (reply.is_object() && reply.contains("error"))
      lose("refused " + json_string(request, "do", "") + ": " + json_string(reply, "error", ""));
    if (!hello_.ids) return reply;
    const auto id = json_member_as<std::uint64_t>(reply, "id", "");
    if (id != asked_) throw Error(fmt::format("an answer to request {} where {} was asked", id, asked_));
    return reply;
  });
}

std::string RunnerProcess::await_line(milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  std::string line;
  while (!channel_.buffered_line(line)) {
    if (interrupted_) throw Interrupted{};
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (left <= milliseconds(0)) {
      lose(fmt::format("did not answer within {} s", std::chrono::duration<double>(timeout).count()));
    }
    pollfd files[] = {{channel_.fd(), POLLIN, 0},
                      {child_ ? child_->stdout_fd() : -1, POLLIN, 0},
                      {child_ ? child_->stderr_fd() : -1, POLLIN, 0}};
    poll(files, std::size(files), static_cast<int>(std::min(left, kLookForInterrupt).count()));
    if (child_) child_->drain();
    if ((files[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    const Channel::Status status = channel_.receive();
    if (status == Channel::Status::kTooLong) lose(kTooLong);
    if (status != Channel::Status::kLine) lose(kEnded);
  }
  return line;
}

void RunnerProcess::lose(const std::string& what) {
  lost_ = true;
  if (!child_) throw RunnerLost{what};
  const auto status = child_->wait(what == kEnded ? kEndPatience : milliseconds(0));
  if (!status) child_->terminate(milliseconds(200));
  std::string reason = what;
  // One that said why it ends has said more than its exit code does.
  if (status && (status->signalled || what == kEnded))
    reason = (status->signalled ? "was " : "ended with ") + status->text();
  if (status && status->signalled && status->code == SIGKILL) reason += ", perhaps for want of memory";
  throw RunnerLost{reason + last_words()};
}

std::string RunnerProcess::last_words() const {
  std::vector<std::string> lines = child_->stderr_lines().lines();
  if (lines.size() > kLastWords) lines.erase(lines.begin(), lines.end() - kLastWords);
  return lines.empty() ? "" : "; its last words: " + join(lines, " | ");
}

}  // namespace headroom
