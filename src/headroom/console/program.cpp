// SPDX-License-Identifier: Apache-2.0
#include "headroom/console/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <set>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"

namespace headroom::cli {
namespace {

/// Text as roff prints it: a line that begins with a point or a quote is no request.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string heading(const std::string& name, const std::string& summary) {
  std::string title = name;
  std::ranges::replace(title, ' ', '-');
  std::string upper = title;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return ".TH \"" + escaped(upper) + "\" 1 \"\" \"headroom " HEADROOM_VERSION "\" \"headroom\"\n.SH NAME\n" +
         escaped(title) + " \\- " + escaped(summary) + "\n";
}

std::string value_text(const Option& option) {
  if (option.is_flag()) return "";
  if (!option.value_name.empty()) return option.value_name;
  if (!option.choices.empty()) return join(option.choices, "|");
  return option.takes_text() ? "TEXT" : "N";
}

std::string entry(const Option& option) {
  std::string names;
  for (const std::string& name : option.all_names()) {
    names += (names.empty() ? "\\fB" : ", \\fB") + escaped(name) + "\\fR";
  }
  const std::string value = option.is_operand() ? "" : value_text(option);
  if (!value.empty()) names += " \\fI" + escaped(value) + "\\fR";
  return ".TP\n" + names + "\n" + escaped(option.help) + "\n";
}

/// The options that are not in `known`, which they then are.
std::string entries(const OptionTable& table, std::set<std::string>& known) {
  std::string text;
  for (const Option& option : table.options()) {
    if (known.insert(option.names).second) text += entry(option);
  }
  return text;
}

std::string verbatim(const std::string& text) {
  return text.empty() ? "" : ".PP\n.nf\n" + escaped(trimmed(text)) + "\n.fi\n";
}

constexpr const char* kExitCodes =
    ".SH EXIT STATUS\n0 fine, 1 the answer is no (a regression, a missed target, a failed case), 2 cannot do "
    "it,\n"
    "3 inconclusive, 130 interrupted.\n";

/// The version of the headroom that starts another program.
constexpr const char* kStarter = "HEADROOM_STARTED_BY";

volatile sig_atomic_t running_program = 0;

/// The terminal sends Ctrl-C to the program too; a signal sent to this process alone has a sender.
void pass_on(int signal, siginfo_t* information, void*) {
  if (running_program > 0 && information->si_code <= 0) ::kill(running_program, signal);
}

/// Passes signals on for as long as it lives.
class SignalsPassedOn {
 public:
  SignalsPassedOn() {
    struct sigaction action {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
    // nohup has HUP ignored, here and in the program.
    if (before_[2].sa_handler == SIG_IGN) ::sigaction(SIGHUP, &before_[2], nullptr);
  }
  ~SignalsPassedOn() { restore(); }
  void restore() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

[[noreturn]] void become(const std::string& path, const Arguments& arguments, pid_t parent, int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(static_cast<int>(ExitCode::kCannot));
  std::vector<char*> words{const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  ::execv(path.c_str(), words.data());
  const int reason = errno;
  const ssize_t written = ::write(failure, &reason, sizeof reason);
  ::_exit(written == sizeof reason ? 127 : 126);
}

/// The errno of an exec that failed; 0 once the program runs.
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
    throw Error(
        fmt::format("{} is of version {}, the headroom that started it of version {}: install both "
                    "of one version",
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
  throw Error("unknown command " + in_quotes(arguments.front()) + did_you_mean(arguments.front(), names) +
              "; " + name + " --help shows all");
}

ExitCode run_chosen(const char* name, std::span<const Command> commands, const ValueSource& values,
                    Arguments arguments) {
  refuse_other_version(name);
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "--version") {
    std::printf("%s %s\n", name, HEADROOM_VERSION);
    return ExitCode::kFine;
  }
  if (commands.size() > 1 && (first.empty() || first == "--help" || first == "-h")) {
    print_commands(name, commands, first.empty() ? stderr : stdout);
    return first.empty() ? ExitCode::kCannot : ExitCode::kFine;
  }
  if (first == kCandidatesAction || first == kManAction) arguments.erase(arguments.begin());
  const Command& command = chosen(name, commands, arguments);
  if (first == kManAction) {
    std::fputs(man_page(command).c_str(), stdout);
    return ExitCode::kFine;
  }
  if (first == kCandidatesAction) {
    print_candidates(candidates_of(command, arguments, values));
    return ExitCode::kFine;
  }
  return command.run(arguments);
}

}  // namespace

std::string man_page(const Command& command) {
  const OptionTable table = option_table(command, {});
  const std::string name = std::string("headroom ") + command.name;
  std::string text = heading(name, command.summary);
  text += ".SH SYNOPSIS\n\\fBheadroom " + escaped(command.name) + "\\fR [\\fIOPTION\\fR]...";
  for (const Option& option : table.options()) {
    if (option.is_operand()) text += " [\\fI" + escaped(option.names) + "\\fR]...";
  }
  text += "\n.SH DESCRIPTION\n" + escaped(table.description()) + "\n.SH OPTIONS\n";
  std::set<std::string> known;
  text += entries(table, known);
  for (const CommandWord& word : command.words != nullptr ? command.words() : std::vector<CommandWord>{}) {
    const OptionTable own = option_table(command, {word.name});
    text += ".SS \"" + escaped(name + " " + word.name) + "\"\n" + escaped(word.summary) + "\n";
    std::set<std::string> of_both = known;
    text += entries(own, of_both);
  }
  text += ".SH EXAMPLES\n" + verbatim(table.footer()) + kExitCodes;
  return text + ".SH SEE ALSO\n.BR headroom (1)\n";
}

std::string man_page(std::span<const Command> commands) {
  std::string text =
      heading("headroom", "how fast a tensor program is, and how fast this machine could run it");
  text +=
      ".SH SYNOPSIS\n\\fBheadroom\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH DESCRIPTION\n"
      "Tells people who write tensor programs how fast a program is, how fast this machine could run it, and "
      "whether it just got slower.\n.SH COMMANDS\n";
  for (const Command& command : commands) {
    text += ".TP\n\\fB" + escaped(command.name) + "\\fR\n" + escaped(command.summary) +
            "; see \\fBheadroom\\-" + escaped(command.name) + "\\fR(1)\n";
  }
  text +=
      ".SH ENVIRONMENT\n.TP\n\\fBHEADROOM_STORE\\fR\nthe history: a file, or postgresql://USER@HOST/NAME\n"
      ".TP\n\\fBHEADROOM_ISA\\fR\nthe best instruction set that the native kernels may use: baseline, avx2, "
      "avx512, avx512_vnni, avx512_bf16\n";
  return text + kExitCodes;
}

std::string find_program_of_ours(const std::string& name) {
  std::vector<std::filesystem::path> folders{this_executable().parent_path(), HEADROOM_INSTALL_BINDIR};
  if (const char* path = std::getenv("PATH")) {
    for (const std::string& folder : split(path, ':')) folders.emplace_back(folder);
  }
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path candidate = folder / name;
    if (::access(candidate.c_str(), X_OK) == 0 && !std::filesystem::is_directory(candidate))
      return candidate.string();
  }
  return {};
}

ExitCode run_program(const std::string& name, const Arguments& arguments) {
  const std::string path = find_program_of_ours(name);
  if (path.empty())
    throw Error(
        fmt::format("{} is neither beside this program ({}) nor in PATH: build it with `make build`, or "
                    "install it",
                    name, this_executable().parent_path().string()));
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0)
    throw Error(fmt::format("cannot start {}: {}", path, std::strerror(errno)));
  std::fflush(nullptr);
  ::setenv(kStarter, HEADROOM_VERSION, 1);
  SignalsPassedOn signals;
  const pid_t self = ::getpid();
  const pid_t program = ::fork();
  if (program == 0) {
    signals.restore();
    become(path, arguments, self, failure[1]);
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
  throw Error(fmt::format("{} was ended by signal {} ({}): what it printed may be incomplete", name,
                          WTERMSIG(status), ::strsignal(WTERMSIG(status))));
}

int program_main(const char* name, std::span<const Command> commands, const ValueSource& values, int argc,
                 char** argv) {
  open_closed_streams();
  try {
    return static_cast<int>(after_output(run_chosen(name, commands, values, {argv + 1, argv + argc})));
  } catch (const std::exception& error) {
    say_sentence(error.what());
    return static_cast<int>(ExitCode::kCannot);
  }
}

}  // namespace headroom::cli
