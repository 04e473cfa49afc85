// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/process/channel.h"

namespace headroom {

/// Our pipe ends are non-blocking and close-on-exec.
struct Launched {
  pid_t pid = -1;
  Descriptor standard_output, standard_error;  ///< standard_output: closed if redirected
  std::chrono::steady_clock::time_point started;
};

/// The caller must reap it. Throws Error.
Launched launch(const SpawnOptions& options);

namespace {

namespace fs = std::filesystem;

bool is_executable(const fs::path& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown) && ::access(path.c_str(), X_OK) == 0;
}

/// npos for at most `count` lines.
std::size_t last_lines_offset(std::string_view bytes, std::size_t count) {
  std::size_t end = bytes.size();
  for (std::size_t seen = 0; seen <= count; ++seen) {
    if (end == 0) return std::string_view::npos;
    const std::size_t newline = bytes.rfind('\n', end - 1);
    if (newline == std::string_view::npos) return newline;
    end = newline;
  }
  return end + 1;
}

/// Without an incomplete UTF-8 sequence at the end.
std::size_t complete_utf8_length(std::string_view text) {
  std::size_t start = text.size();
  for (int back = 0; back < 4 && start > 0; ++back) {
    const auto byte = static_cast<unsigned char>(text[--start]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    const std::size_t length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return start + length > text.size() ? start : text.size();
  }
  return text.size();
}

std::string shown(std::string_view line, bool cut) {
  if (cut) return std::string(line.substr(0, complete_utf8_length(line))) + "…";
  if (line.ends_with('\r')) line.remove_suffix(1);
  return std::string(line);
}

constexpr int kMaxChildDescriptor = 1023;

class SpawnPlan {
 public:
  SpawnPlan() {
    check(posix_spawn_file_actions_init(&actions_));
    check(posix_spawnattr_init(&attributes_));
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void redirect_from_null(int number) {
    check(posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", O_RDONLY, 0));
  }
  void place(int ours, int number) { check(posix_spawn_file_actions_adddup2(&actions_, ours, number)); }
  void set_folder(const std::string& folder) {
    check(posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()));
  }
  void close(int number) { check(posix_spawn_file_actions_addclose(&actions_, number)); }
  void close_from(int number) { check(posix_spawn_file_actions_addclosefrom_np(&actions_, number)); }

  void set_group_and_signals() {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    check(posix_spawnattr_setpgroup(&attributes_, 0));
    check(posix_spawnattr_setsigmask(&attributes_, &none));
    check(posix_spawnattr_setsigdefault(&attributes_, &all));
    constexpr int kFlags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    check(posix_spawnattr_setflags(&attributes_, static_cast<short>(kFlags)));
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  static void check(int error) {
    if (error != 0) throw Error(fmt::format("cannot prepare a child process: {}", std::strerror(error)));
  }
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

struct Pipe {
  Descriptor read_end, write_end;
};

Pipe make_output_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(
        fmt::format("cannot make a pipe for a child's output: {}; close programs or raise 'ulimit -n'",
                    std::strerror(errno)));
  }
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  // Only our end: the child expects blocking output.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

/// Duplicates `fd`, close-on-exec, to at least `least`.
Descriptor copy_above(int fd, int least) {
  Descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, least));
  if (copy.is_open()) return copy;
  throw Error(fmt::format("cannot pass descriptor {} to a child process: {}", fd, std::strerror(errno)));
}

/// Copies descriptors above every number used in the child, to avoid overwriting.
class Placement {
 public:
  Placement(const SpawnOptions& options, const Pipe& output, const Pipe& error) : next_free_(3) {
    for (const auto& [ours, number] : options.descriptors) {
      if (number < 3 || number > kMaxChildDescriptor) {
        throw Error(fmt::format("a child process cannot get a descriptor numbered {}; use 3 to {}", number,
                                kMaxChildDescriptor));
      }
      next_free_ = std::max(next_free_, number + 1);
    }
    if (options.standard_input >= 0) add(options.standard_input, STDIN_FILENO);
    add(options.standard_output >= 0 ? options.standard_output : output.write_end.get(), STDOUT_FILENO);
    add(error.write_end.get(), STDERR_FILENO);
    for (const auto& [ours, number] : options.descriptors) add(ours, number);
  }

  void plan(SpawnPlan& plan) const {
    if (copies_.front().second != STDIN_FILENO) plan.redirect_from_null(STDIN_FILENO);
    std::vector<bool> used(static_cast<std::size_t>(next_free_), false);
    for (const auto& [copy, number] : copies_) {
      plan.place(copy.get(), number);
      used[static_cast<std::size_t>(number)] = true;
    }
    for (int number = 3; number < next_free_; ++number) {
      if (!used[static_cast<std::size_t>(number)]) plan.close(number);
    }
    plan.close_from(next_free_);
  }

 private:
  void add(int ours, int number) { copies_.emplace_back(copy_above(ours, next_free_), number); }

  int next_free_;
  std::vector<std::pair<Descriptor, int>> copies_;
};

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& additions) {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(additions.begin(), additions.end(),
                                      [&](const auto& addition) { return addition.first == name; });
    if (!replaced) result.emplace_back(text);
  }
  for (const auto& [name, value] : additions) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string start_failure(const SpawnOptions& options, int error) {
  const std::string& program = options.arguments[0];
  const bool is_path = program.find('/') != std::string::npos;
  struct stat file {};
  const std::string path = (std::filesystem::path(options.folder) / program).string();
  const bool exists = is_path && ::stat(path.c_str(), &file) == 0;
  if (exists && S_ISDIR(file.st_mode)) return "it is a folder; give the path of the program in it";
  switch (error) {
    case ENOENT:
      if (!is_path) return "not found in PATH; check the name, or give its path";
      if (!exists) return "no such file; check the path";
      return "the interpreter in its first line, or the loader it was linked for, is not on this machine";
    case EACCES:
      return "not executable (or a folder above it is closed to you); try: chmod +x " + path;
    case ENOEXEC:
      return "not a program for this machine: neither an executable for this CPU nor a script that starts "
             "with #!";
    case E2BIG:
      return "the arguments and the environment are too long for this system";
    case EAGAIN:
    case ENOMEM:
      return fmt::format("{}; end other programs, or raise the limit on processes or memory",
                         std::strerror(error));
    default:
      return std::strerror(error);
  }
}

void require_startable(const SpawnOptions& options) {
  if (options.arguments.empty() || options.arguments[0].empty()) {
    throw Error("cannot start a program: its name is empty");
  }
  for (const std::string& argument : options.arguments) {
    if (argument.find('\0') != std::string::npos) {
      throw Error(fmt::format("cannot start {}: an argument contains a zero byte: {}",
                              quote(options.arguments[0]), quote(argument)));
    }
  }
  std::error_code unknown;
  if (!options.folder.empty() && !std::filesystem::is_directory(options.folder, unknown)) {
    throw Error(fmt::format("cannot start {} in {}: there is no such folder", quote(options.arguments[0]),
                            quote(options.folder)));
  }
}

/// Bounds drain() if the child never stops writing.
constexpr std::size_t kDrainBytes = std::size_t{1} << 20;
constexpr std::size_t kPipeBytes = std::size_t{64} << 10;
constexpr int kExitPollMs = 5;
/// Signals end the wait at once.
constexpr int kGiveUpPollMs = 200;

int shorter(int pause, int limit) {
  return pause < 0 || pause > limit ? limit : pause;
}

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

/// Whether the child has ended (or is not ours); does not reap.
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

std::optional<fs::path> find_program(const std::string& name, const fs::path& folder) {
  if (name.find('/') != std::string::npos) {
    const fs::path path = folder / name;
    return is_executable(path) ? std::optional(path) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  // Default of execvp (confstr's _CS_PATH).
  for (const std::string& place : split(path == nullptr ? "/bin:/usr/bin" : path, ':')) {
    const fs::path candidate = fs::path(place.empty() ? "." : place) / name;
    if (!name.empty() && is_executable(candidate)) return candidate;
  }
  return std::nullopt;
}

std::string ExitStatus::text() const {
  if (code < 0) return "exit code unknown (this program was started with SIGCHLD ignored)";
  if (!signalled) return fmt::format("exit code {}", code);
  const bool real_time = code >= SIGRTMIN && code <= SIGRTMAX;
  const bool has_name = code >= 1 && code <= SIGSYS;
  return fmt::format("killed by signal {} ({})", code,
                     has_name    ? strsignal(code)
                     : real_time ? "real-time signal"
                                 : "unknown signal");
}

LineRing::LineRing(std::size_t max_lines, std::size_t max_line_bytes)
    : max_lines_(max_lines), max_line_bytes_(max_line_bytes) {}

void LineRing::append(std::string_view bytes) {
  total_bytes_ += bytes.size();
  // A flood costs a search, not a copy.
  const std::size_t start = last_lines_offset(bytes, max_lines_);
  if (start != std::string_view::npos) {
    bytes.remove_prefix(start);
    lines_.clear();
    partial_.clear();
    partial_cut_ = false;
  }
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    const std::string_view taken = piece.substr(0, max_line_bytes_ - partial_.size());
    partial_.append(taken);
    partial_cut_ = partial_cut_ || taken.size() < piece.size();
    if (newline == std::string_view::npos) return;
    lines_.push_back(shown(partial_, partial_cut_));
    if (lines_.size() > max_lines_) lines_.pop_front();
    partial_.clear();
    partial_cut_ = false;
    bytes.remove_prefix(newline + 1);
  }
}

std::vector<std::string> LineRing::lines() const {
  std::vector<std::string> result(lines_.begin(), lines_.end());
  if (!partial_.empty() || partial_cut_) result.push_back(shown(partial_, partial_cut_));
  if (result.size() > max_lines_) result.erase(result.begin());
  return result;
}

Launched launch(const SpawnOptions& options) {
  require_startable(options);
  Pipe output;
  if (options.standard_output < 0) output = make_output_pipe();
  Pipe error = make_output_pipe();
  const Placement placement(options, output, error);
  SpawnPlan plan;
  placement.plan(plan);
  if (!options.folder.empty()) plan.set_folder(options.folder);
  plan.set_group_and_signals();

  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = environment_with(options.environment);
  std::vector<char*> argument_pointers = pointers(arguments), environment_pointers = pointers(environment);
  Launched launched;
  launched.started = std::chrono::steady_clock::now();
  const int failure = posix_spawnp(&launched.pid, arguments[0].c_str(), plan.actions(), plan.attributes(),
                                   argument_pointers.data(), environment_pointers.data());
  if (failure != 0) {
    throw Error(fmt::format("cannot start {}: {}", quote(arguments[0]), start_failure(options, failure)));
  }
  launched.standard_output = std::move(output.read_end);
  launched.standard_error = std::move(error.read_end);
  return launched;
}

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
  move_from(other);
}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    kill_and_reap();
    move_from(other);
  }
  return *this;
}

void Child::move_from(Child& other) noexcept {
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
    ::kill(-pid_, SIGCONT);  // stopped processes handle SIGTERM only then
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
  // Before the id can be reused.
  ::kill(-pid_, SIGKILL);
  status_ = reap(pid_);
  exit_.reset();
}

}  // namespace headroom
