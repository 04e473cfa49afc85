// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

/// Highest number that a descriptor may be given in the child: the common soft limit on open files.
constexpr int kMaxChildDescriptor = 1023;

/// posix_spawn's two objects, with errors as exceptions.
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

  void open_null_as(int number) {
    check(posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", O_RDONLY, 0));
  }
  void place(int ours, int number) { check(posix_spawn_file_actions_adddup2(&actions_, ours, number)); }
  void run_in(const std::string& folder) {
    check(posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()));
  }
  void close(int number) { check(posix_spawn_file_actions_addclose(&actions_, number)); }
  void close_from(int number) { check(posix_spawn_file_actions_addclosefrom_np(&actions_, number)); }

  void own_group_and_default_signals() {
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
  // Our end only: the child must find an ordinary, blocking standard output.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

/// A close-on-exec copy of `fd` numbered `least` or more.
Descriptor copy_above(int fd, int least) {
  Descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, least));
  if (copy.is_open()) return copy;
  throw Error(fmt::format("cannot hand descriptor {} to a child process: {}", fd, std::strerror(errno)));
}

/// The copies of descriptors that the child gets. They lie above every number used in the child, so that
/// placing one never overwrites another that is still to be placed.
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
    if (copies_.front().second != STDIN_FILENO) plan.open_null_as(STDIN_FILENO);
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

/// The form that exec wants: pointers into `texts`, then a null pointer.
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
      return "not a program for this machine: neither an executable of this kind of CPU nor a script that "
             "starts "
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
      throw Error(fmt::format("cannot start {}: an argument has a zero byte inside: {}",
                              in_quotes(options.arguments[0]), in_quotes(argument)));
    }
  }
  std::error_code unknown;
  if (!options.folder.empty() && !std::filesystem::is_directory(options.folder, unknown)) {
    throw Error(fmt::format("cannot start {} in {}: there is no such folder", in_quotes(options.arguments[0]),
                            in_quotes(options.folder)));
  }
}

}  // namespace

Launched launch(const SpawnOptions& options) {
  require_startable(options);
  Pipe output;
  if (options.standard_output < 0) output = make_output_pipe();
  Pipe error = make_output_pipe();
  const Placement placement(options, output, error);
  SpawnPlan plan;
  placement.plan(plan);
  if (!options.folder.empty()) plan.run_in(options.folder);
  plan.own_group_and_default_signals();

  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = environment_with(options.environment);
  std::vector<char*> argument_pointers = pointers(arguments), environment_pointers = pointers(environment);
  Launched launched;
  launched.started = std::chrono::steady_clock::now();
  const int failure = posix_spawnp(&launched.pid, arguments[0].c_str(), plan.actions(), plan.attributes(),
                                   argument_pointers.data(), environment_pointers.data());
  if (failure != 0) {
    throw Error(fmt::format("cannot start {}: {}", in_quotes(arguments[0]), start_failure(options, failure)));
  }
  launched.standard_output = std::move(output.read_end);
  launched.standard_error = std::move(error.read_end);
  return launched;
}

}  // namespace headroom
