// SPDX-License-Identifier: Apache-2.0
#include "headroom/console/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/console/command.h"
#include "headroom/console/output.h"
#include "headroom/process/spawn.h"

namespace headroom::cli {
namespace {

constexpr const char* kStarter = "HEADROOM_STARTED_BY";

volatile sig_atomic_t running_program = 0;

/// The terminal sends Ctrl-C to the program too; other signals have a sender.
void forward_signal(int signal, siginfo_t* information, void*) {
  if (running_program > 0 && information->si_code <= 0) ::kill(running_program, signal);
}

class SignalForwarder {
 public:
  SignalForwarder() {
    struct sigaction action {};
    action.sa_sigaction = forward_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
    if (before_[2].sa_handler == SIG_IGN) ::sigaction(SIGHUP, &before_[2], nullptr);
  }
  ~SignalForwarder() { restore(); }
  void restore() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

[[noreturn]] void exec_program(const std::string& path, const Arguments& arguments, pid_t parent,
                               int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(static_cast<int>(ExitCode::kError));
  std::vector<char*> words{const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  ::execv(path.c_str(), words.data());
  const int reason = errno;
  const ssize_t written = ::write(failure, &reason, sizeof reason);
  ::_exit(written == sizeof reason ? 127 : 126);
}

int exec_failure(int pipe) {
  int reason = 0;
  ssize_t got = 0;
  do {
    got = ::read(pipe, &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  ::close(pipe);
  return got == sizeof reason ? reason : 0;
}

int wait_for(pid_t program) {
  int status = 0;
  while (::waitpid(program, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void refuse_other_version(const std::string& name) {
  const char* starter = std::getenv(kStarter);
  if (starter == nullptr) return;
  const std::string version = starter;
  ::unsetenv(kStarter);
  if (version != HEADROOM_VERSION)
    throw Error(fmt::format(
        "{} has version {}, but headroom, which started it, has version {}: install the same version of both",
        name, HEADROOM_VERSION, version));
}

void print_commands(const char* name, std::span<const Command> commands, std::FILE* out) {
  std::fprintf(out, "usage: %s COMMAND [OPTIONS]\n\ncommands:\n", name);
  for (const Command& command : commands) std::fprintf(out, "  %-10s %s\n", command.name, command.summary);
}

const Command& chosen(const char* name, std::span<const Command> commands, Arguments& arguments) {
  if (commands.size() == 1) return commands.front();
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (!arguments.empty() && command.name == arguments.front()) {
      arguments.erase(arguments.begin());
      return command;
    }
    names.emplace_back(command.name);
  }
  throw Error("unknown command " + quote(arguments.front()) + did_you_mean(arguments.front(), names) + "; " +
              name + " --help lists all");
}

ExitCode dispatch_command(const char* name, std::span<const Command> commands, const ValueSource& values,
                          Arguments arguments) {
  refuse_other_version(name);
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "--version") {
    std::printf("%s %s\n", name, HEADROOM_VERSION);
    return ExitCode::kSuccess;
  }
  if (commands.size() > 1 && (first.empty() || first == "--help" || first == "-h")) {
    print_commands(name, commands, first.empty() ? stderr : stdout);
    return first.empty() ? ExitCode::kError : ExitCode::kSuccess;
  }
  if (first == kCandidatesAction || first == kManAction) arguments.erase(arguments.begin());
  const Command& command = chosen(name, commands, arguments);
  if (first == kManAction) {
    std::fputs(man_page(command).c_str(), stdout);
    return ExitCode::kSuccess;
  }
  if (first == kCandidatesAction) {
    print_candidates(candidates_of(command, arguments, values));
    return ExitCode::kSuccess;
  }
  return command.run(arguments);
}

/// Not SIG_IGN, which measured programs would inherit.
void survive_file_size_limit() {
  struct sigaction before {};
  if (::sigaction(SIGXFSZ, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
    std::signal(SIGXFSZ, [](int) {});
}

void refuse_small_stack() {
  constexpr rlim_t kNeeded = rlim_t{1} << 20U;
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kNeeded) return;
  throw Error(fmt::format("stack limit too small: {} KiB, headroom needs {}; run ulimit -s {}",
                          stack.rlim_cur >> 10U, kNeeded >> 10U, kNeeded >> 10U));
}

}  // namespace

std::string find_program_of_ours(const std::string& name) {
  const std::string beside = (this_executable().parent_path() / name).string();
  for (const std::string& place : {beside, HEADROOM_INSTALL_BINDIR "/" + name, name}) {
    if (const auto found = find_program(place)) return found->string();
  }
  return {};
}

ExitCode run_program(const std::string& name, const Arguments& arguments) {
  const std::string path = find_program_of_ours(name);
  if (path.empty())
    throw Error(fmt::format(
        "{} not found next to this program ({}) or in PATH: build it with `make build`, or install it", name,
        this_executable().parent_path().string()));
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0)
    throw Error(fmt::format("cannot start {}: {}", path, std::strerror(errno)));
  std::fflush(nullptr);
  ::setenv(kStarter, HEADROOM_VERSION, 1);
  SignalForwarder forwarder;
  const pid_t self = ::getpid();
  const pid_t program = ::fork();
  if (program == 0) {
    forwarder.restore();
    exec_program(path, arguments, self, failure[1]);
  }
  running_program = program;
  const int fork_failure = program < 0 ? errno : 0;
  ::close(failure[1]);
  ::unsetenv(kStarter);
  const int reason = program < 0 ? fork_failure : exec_failure(failure[0]);
  const int status = program < 0 ? 0 : wait_for(program);
  running_program = 0;
  if (reason != 0) throw Error(fmt::format("cannot start {}: {}", path, std::strerror(reason)));
  if (WIFEXITED(status)) return static_cast<ExitCode>(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM) return ExitCode::kInterrupted;
  throw Error(fmt::format("{} was killed by signal {} ({}): its output may be incomplete", name,
                          WTERMSIG(status), ::strsignal(WTERMSIG(status))));
}

int exit_code_of(const std::function<ExitCode()>& program) {
  open_closed_streams();
  survive_file_size_limit();
  try {
    refuse_small_stack();
    return static_cast<int>(after_output(program()));
  } catch (const Interrupted&) {
    print_sentence("interrupted before anything was measured");
    return static_cast<int>(ExitCode::kInterrupted);
  } catch (const std::exception& error) {
    print_sentence(error.what());
    return static_cast<int>(ExitCode::kError);
  }
}

int program_main(const char* name, std::span<const Command> commands, const ValueSource& values, int argc,
                 char** argv) {
  return exit_code_of([&] { return dispatch_command(name, commands, values, {argv + 1, argv + argc}); });
}

}  // namespace headroom::cli
