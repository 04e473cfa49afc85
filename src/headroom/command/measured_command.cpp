// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/measured_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/process/descriptor.h"
#include "headroom/process/spawn.h"

namespace headroom {
namespace {

constexpr std::int64_t kBytesPerKib = 1024;
constexpr std::size_t kShownErrorLines = 3;

Descriptor open_for(const std::filesystem::path& path, int flags, const char* what) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (file.is_open()) return file;
  throw Error(fmt::format("cannot open {} as the command's standard {}: {}", in_quotes(path.string()), what,
                          std::strerror(errno)));
}

double nanoseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
}

std::int64_t own_peak_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * kBytesPerKib;
}

void take_usage(const rusage& usage, CommandResult& result) {
  result.user_ns = nanoseconds(usage.ru_utime);
  result.system_ns = nanoseconds(usage.ru_stime);
  result.peak_rss_bytes = usage.ru_maxrss * kBytesPerKib;
  result.minor_faults = usage.ru_minflt;
  result.major_faults = usage.ru_majflt;
  result.voluntary_switches = usage.ru_nvcsw;
  result.involuntary_switches = usage.ru_nivcsw;
}

/// INT first, as Ctrl-C would have sent it, so that the command may tidy up in its own way.
ExitStatus interrupt(Child& child, std::chrono::milliseconds grace) {
  child.signal_group(SIGINT);
  if (const auto status = child.wait(grace)) return *status;
  return child.terminate(grace);
}

ExitStatus wait_for_end(Child& child, const CommandSpec& spec, const std::function<bool()>& is_interrupted,
                        CommandResult& result) {
  if (const auto status = child.wait(spec.timeout, is_interrupted)) return *status;
  result.interrupted = is_interrupted && is_interrupted();
  if (result.interrupted) return interrupt(child, spec.grace);
  result.timed_out = true;
  return child.terminate(spec.grace);
}

}  // namespace

std::vector<std::string> shell_arguments(const std::string& line, const std::string& shell) {
  return {shell, "-c", line};
}

std::string CommandResult::failure() const {
  if (ok()) return "";
  std::string text = interrupted ? "interrupted" : timed_out ? "timed out" : status.text();
  const std::size_t shown = std::min(kShownErrorLines, error_lines.size());
  if (shown == 0) return text;
  return text + ": " +
         join({error_lines.end() - static_cast<std::ptrdiff_t>(shown), error_lines.end()}, " / ");
}

CommandResult run_command(const CommandSpec& spec, const std::function<bool()>& is_interrupted) {
  SpawnOptions options;
  options.arguments = spec.arguments;
  options.environment = spec.environment;
  options.folder = spec.folder.string();
  Descriptor input, output;
  if (!spec.input.empty()) input = open_for(spec.input, O_RDONLY, "input");
  if (spec.output == CommandSpec::Output::kDiscard) output = open_for("/dev/null", O_WRONLY, "output");
  if (spec.output == CommandSpec::Output::kFile) {
    output = open_for(spec.output_file, O_WRONLY | O_CREAT | O_TRUNC, "output");
  }
  options.standard_input = input.get();
  options.standard_output = output.get();
  if (spec.output == CommandSpec::Output::kCapture) options.capture_bytes = spec.capture_bytes;

  CommandResult result;
  result.peak_rss_floor_bytes = own_peak_rss_bytes();
  Child child(options);
  result.status = wait_for_end(child, spec, is_interrupted, result);
  result.wall_ns = std::chrono::duration<double, std::nano>(child.ended() - child.started()).count();
  take_usage(result.status.usage, result);
  result.output = child.captured_output();
  result.output_cut = child.stdout_lines().total_bytes() > result.output.size();
  result.error_lines = child.stderr_lines().lines();
  return result;
}

}  // namespace headroom
