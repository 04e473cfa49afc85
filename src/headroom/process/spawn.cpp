// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "headroom/process/deadline.h"
#include "headroom/process/launch.h"

namespace headroom {
namespace {

/// A child that writes without end must not keep us in drain().
constexpr std::size_t kDrainBytes = std::size_t{1} << 20;
constexpr std::size_t kPipeBytes = std::size_t{64} << 10;
/// How often to look for the child's end where no descriptor tells it.
constexpr int kExitPollMs = 5;
/// How often to ask whether to give up: a signal ends the pause at once, whatever else may be the reason does
/// not.
constexpr int kGiveUpPollMs = 200;

int shorter(int pause, int limit) {
  return pause < 0 || pause > limit ? limit : pause;
}

/// Where the bytes of a stream go: the last lines, and the first bytes.
struct Sink {
  LineRing& lines;
  std::string& head;
  std::size_t head_bytes;

  void take(std::string_view bytes) {
    lines.append(bytes);
    if (head.size() < head_bytes) head.append(bytes.substr(0, head_bytes - head.size()));
  }
};

void drain_stream(Descriptor& stream, Sink sink) {
  std::array<char, kPipeBytes> chunk;
  std::size_t total = 0;
  while (stream.is_open() && total < kDrainBytes) {
    const ssize_t got = ::read(stream.get(), chunk.data(), chunk.size());
    if (got > 0) {
      sink.take({chunk.data(), static_cast<std::size_t>(got)});
      total += static_cast<std::size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return;
    } else if (got == 0 || errno != EINTR) {
      stream.reset();
    }
  }
}

/// Whether the child has ended (or is not ours to wait for), without reaping it.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    if (errno != EINTR) return true;
  }
  return info.si_pid != 0;
}

ExitStatus reap(pid_t pid) {
  ExitStatus status;
  int raw = 0;
  pid_t reaped = -1;
  do {
    reaped = ::wait4(pid, &raw, 0, &status.usage);
  } while (reaped < 0 && errno == EINTR);
  if (reaped != pid) {
    status.code = -1;
  } else if (WIFSIGNALED(raw)) {
    status.signalled = true;
    status.code = WTERMSIG(raw);
  } else {
    status.code = WEXITSTATUS(raw);
  }
  return status;
}

}  // namespace

Child::Child(const SpawnOptions& options) : capture_bytes_(options.capture_bytes) {
  Launched launched = launch(options);
  pid_ = launched.pid;
  started_ = ended_ = launched.started;
  stdout_ = std::move(launched.standard_output);
  stderr_ = std::move(launched.standard_error);
  exit_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

Child::~Child() {
  kill_and_reap();
}

Child::Child(Child&& other) noexcept {
  take_over(other);
}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    kill_and_reap();
    take_over(other);
  }
  return *this;
}

void Child::take_over(Child& other) noexcept {
  pid_ = std::exchange(other.pid_, -1);
  stdout_ = std::move(other.stdout_);
  stderr_ = std::move(other.stderr_);
  exit_ = std::move(other.exit_);
  status_ = other.status_;
  stdout_lines_ = std::move(other.stdout_lines_);
  stderr_lines_ = std::move(other.stderr_lines_);
  captured_ = std::move(other.captured_);
  capture_bytes_ = other.capture_bytes_;
  started_ = other.started_;
  ended_ = other.ended_;
}

void Child::drain() {
  std::string none;
  drain_stream(stdout_, {stdout_lines_, captured_, capture_bytes_});
  drain_stream(stderr_, {stderr_lines_, none, 0});
}

std::optional<ExitStatus> Child::poll_exit() {
  if (!status_ && pid_ > 0 && has_ended(pid_)) {
    kill_and_reap();
    drain();
  }
  return status_;
}

bool Child::is_stopped() const {
  siginfo_t info{};
  if (pid_ < 0 || status_) return false;
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0;
}

std::optional<ExitStatus> Child::wait(std::chrono::milliseconds timeout,
                                      const std::function<bool()>& give_up) {
  const Deadline deadline(timeout);
  while (true) {
    drain();
    if (pid_ < 0 || poll_exit()) return status_;
    if (deadline.over() || (give_up && give_up())) return std::nullopt;
    int pause = deadline.poll_ms();
    if (give_up) pause = shorter(pause, kGiveUpPollMs);
    if (!exit_.is_open()) pause = shorter(pause, kExitPollMs);
    std::array<pollfd, 3> entries = {
        {{stdout_.get(), POLLIN, 0}, {stderr_.get(), POLLIN, 0}, {exit_.get(), POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), pause);
  }
}

void Child::signal_group(int signal) {
  if (!poll_exit() && pid_ > 0) ::kill(-pid_, signal);
}

ExitStatus Child::terminate(std::chrono::milliseconds grace) {
  if (!poll_exit() && pid_ > 0) {
    ::kill(-pid_, SIGTERM);
    ::kill(-pid_, SIGCONT);  // a stopped process takes TERM only once it runs again
    if (!wait(grace)) {
      kill_and_reap();
      drain();
    }
  }
  return status_.value_or(ExitStatus{.signalled = false, .code = -1});
}

void Child::kill_and_reap() {
  if (pid_ < 0 || status_) return;
  ended_ = std::chrono::steady_clock::now();
  // Before reaping: afterwards the number may belong to another process group.
  ::kill(-pid_, SIGKILL);
  status_ = reap(pid_);
  exit_.reset();
}

}  // namespace headroom
