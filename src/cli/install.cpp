// SPDX-License-Identifier: Apache-2.0
// libtorch's binary interface changes with its version, so headroom-torch is compiled where it is used.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/fnv.h"
#include "headroom/base/text.h"
#include "headroom/command/command_line.h"
#include "headroom/command/measured_command.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/process/spawn.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr ConstantHelp kInstallExamples[] = {
    {"headroom install torch", "for the torch of the active environment"},
    {"headroom install torch --dry-run", "print the commands"},
    {"headroom install torch --torch ~/libtorch --prefix ~/.local", "for a download of libtorch"},
    {"headroom install torch -D HEADROOM_TORCH_GLOO=pytorch/third_party/gloo", "with gloo for ranks"},
};

constexpr const char* kInstallDetails[] = {
    "Compiles headroom-torch and headroom-torch-rank, and headroom-torch-cuda if the torch has CUDA and nvcc "
    "has "
    "the same major version. This takes minutes. A libtorch works only with programs compiled for its "
    "version: "
    "repeat the command after an upgrade of torch.",
    "Needs: a compiler for C++20 (g++ 12, clang++ 15), CMake 3.25, ninja, pkg-config, and the headers of "
    "fmt, "
    "simdjson, sqlite3, toml++, utf8proc, zlib and zstd (apt-get install g++ cmake ninja-build pkg-config "
    "libfmt-dev libsimdjson-dev libsqlite3-dev libtomlplusplus-dev libutf8proc-dev zlib1g-dev libzstd-dev). "
    "pip install cmake ninja has newer ones.",
    "The sources came with headroom (share/headroom/source); --source takes another tree of the same "
    "version.",
};

/// The libtorch that CMake finds.
constexpr const char* kSystem = "system";

struct InstallOptions {
  std::string what, torch, source, prefix;
  std::vector<std::string> definitions;
  std::int64_t jobs = 0;
  bool dry_run = false;
};

/// bin/ of an installation or of a build.
fs::path own_folder() {
  return this_executable().parent_path();
}

bool is_source(const fs::path& folder) {
  return fs::exists(folder / "src/headroom_torch/CMakeLists.txt");
}

fs::path find_source(const std::string& given) {
  if (!given.empty()) {
    if (is_source(given)) return fs::canonical(given);
    throw Error(given + ": not a source tree of headroom (it has no src/headroom_torch)");
  }
  const fs::path installed = own_folder().parent_path() / "share/headroom/source";
  for (const fs::path& folder : {installed, own_folder() / "../../..", fs::path(".")}) {
    if (is_source(folder)) return fs::canonical(folder);
  }
  throw Error("no sources of headroom-torch in " + installed.string() +
              ": give --source FOLDER, a source tree of headroom " HEADROOM_VERSION);
}

/// The environment's that headroom was installed into, else that of PATH.
std::string python_of_user() {
  const fs::path beside = own_folder() / "python3";
  return fs::exists(own_folder() / "../pyvenv.cfg") && fs::exists(beside) ? beside.string() : "python3";
}

/// Does not import torch, which takes seconds and may fail without a GPU.
fs::path torch_of_python() {
  const std::string python = python_of_user();
  const char* const otherwise =
      ": activate the environment that has it, or give --torch FOLDER (.../site-packages/torch, or an "
      "unpacked "
      "libtorch)";
  if (!find_program(python)) throw Error("no python3 in PATH to ask for its torch" + std::string(otherwise));
  CommandSpec spec;
  spec.arguments = {python, "-c",
                    "import importlib.util as u; s = u.find_spec('torch'); "
                    "print(s.submodule_search_locations[0] if s else '', "
                    "end='')"};
  spec.output = CommandSpec::Output::kCapture;
  const CommandResult result = run_command(spec);
  if (!result.ok()) throw Error(python + " cannot be asked for its torch: " + result.failure());
  if (result.output.empty()) throw Error(find_program(python)->string() + " has no module torch" + otherwise);
  return result.output;
}

/// Returns the value of HEADROOM_TORCH.
std::string find_torch(const std::string& given) {
  if (given == kSystem) return "ON";
  const fs::path torch = given.empty() ? torch_of_python() : fs::absolute(given);
  if (fs::exists(torch / "share/cmake/Torch/TorchConfig.cmake")) return torch.string();
  throw Error(
      torch.string() +
      ": no libtorch (no share/cmake/Torch/TorchConfig.cmake): give --torch the folder of Python's module "
      "torch or of an unpacked libtorch, or --torch system for Debian's libtorch-dev");
}

fs::path find_prefix(const std::string& given) {
  const fs::path prefix = given.empty() ? own_folder().parent_path() : fs::absolute(given);
  if (given.empty() && fs::exists(prefix / "CMakeCache.txt")) {
    throw Error("this headroom is in a build folder, " + prefix.string() +
                ": give --prefix FOLDER, or build headroom-torch there (make build HEADROOM_TORCH=python)");
  }
  if (given.empty() && prefix == "/usr") {
    throw Error(
        "this headroom is in /usr, which belongs to the package manager: give --prefix /usr/local or "
        "--prefix ~/.local");
  }
  require_writable_folder(prefix / "bin");
  return prefix;
}

void require_tools() {
  const std::pair<const char*, const char*> tools[] = {
      {"cmake", "cmake"}, {"ninja", "ninja-build"}, {"pkg-config", "pkg-config"}, {"c++", "g++"}};
  std::vector<std::string> missing, packages;
  for (const auto& [program, package] : tools) {
    if (find_program(program) || (program == std::string("c++") && std::getenv("CXX") != nullptr)) continue;
    missing.emplace_back(program);
    packages.emplace_back(package);
  }
  if (missing.empty()) return;
  throw Error("needs " + join(missing, ", ") + ", not found in PATH: apt-get install " + join(packages, " ") +
              " (cmake and ninja: also pip install cmake ninja)");
}

struct Step {
  std::string what;  ///< "configuring"
  std::vector<std::string> command;

  std::string line() const {
    std::vector<std::string> words;
    for (const std::string& word : command) words.push_back(quoted_word(word));
    return join(words, " ");
  }
};

struct Plan {
  fs::path build, programs;
  std::vector<Step> steps;
};

Plan make_plan(const InstallOptions& options) {
  const std::string source = find_source(options.source).string(), torch = find_torch(options.torch);
  const fs::path prefix = find_prefix(options.prefix);
  Fnv1a key;
  key.add(source + '\n' + torch);
  const fs::path build = user_cache_folder() / "install" / fmt::format("torch-{:016x}", key.value());
  Step configure{"configuring", {"cmake", "-S", source, "-B", build.string(), "-G", "Ninja"}};
  std::vector<std::string> definitions{"CMAKE_BUILD_TYPE=Release", "CMAKE_INSTALL_RPATH_USE_LINK_PATH=ON",
                                       "HEADROOM_ONLY_TORCH=ON", "HEADROOM_TORCH=" + torch};
  definitions.insert(definitions.end(), options.definitions.begin(), options.definitions.end());
  for (const std::string& definition : definitions) configure.command.push_back("-D" + definition);
  Step compile{"compiling", {"cmake", "--build", build.string()}};
  if (options.jobs > 0)
    compile.command.insert(compile.command.end(), {"--parallel", fmt::format("{}", options.jobs)});
  Step install{
      "installing",
      {"cmake", "--install", build.string(), "--component", "torch", "--strip", "--prefix", prefix.string()}};
  return {build, prefix / "bin", {std::move(configure), std::move(compile), std::move(install)}};
}

/// Shows its output on standard error. Returns false if interrupted.
bool take(const Step& step) {
  print_message("{}: {}", step.what, step.line());
  SpawnOptions spawn;
  spawn.arguments = step.command;
  spawn.standard_output = STDERR_FILENO;
  Child child(spawn);
  const auto status = child.wait(std::chrono::milliseconds(-1), [] { return interrupt_count() > 0; });
  if (!status) return false;
  if (!status->ok())
    throw Error(fmt::format("{} failed ({}): {}\n{}", step.what, status->text(), step.line(),
                            join(child.stderr_lines().lines(), "\n")));
  return true;
}

ExitCode install(const InstallOptions& options) {
  const Plan plan = make_plan(options);
  if (options.dry_run) {
    for (const Step& step : plan.steps) print_text(step.line() + "\n", stdout);
    return ExitCode::kSuccess;
  }
  require_tools();
  for (const Step& step : plan.steps) {
    if (take(step)) continue;
    print_sentence("interrupted; the same command goes on where it stopped");
    return ExitCode::kInterrupted;
  }
  remove_tree(plan.build);
  print_message("installed headroom-torch in {}; headroom run gemv --backend native,aten compares",
                plan.programs.string());
  return ExitCode::kSuccess;
}

}  // namespace

OptionTable install_options(Arguments&) {
  OptionTable table("Build headroom-torch for the torch of this Python, and install it beside headroom.",
                    "headroom install");
  auto& options = table.own<InstallOptions>();
  table.examples(kInstallExamples);
  table.details(kInstallDetails);
  table.add_option("WHAT", options.what, "torch").required().one_of({"torch"});
  table
      .add_option(
          "--torch", options.torch,
          "folder of a torch package or of an unpacked libtorch, or system: Debian's libtorch-dev (default: "
          "the torch of headroom's virtual environment, else of python3 in PATH)")
      .type_name("FOLDER")
      .completed_by(Completes::kFile);
  table.add_option("--prefix", options.prefix, "install into FOLDER/bin (default: beside headroom)")
      .type_name("FOLDER")
      .completed_by(Completes::kFile);
  table.add_option("--source", options.source, "source tree of headroom (default: the one that came with it)")
      .type_name("FOLDER")
      .completed_by(Completes::kFile);
  table.add_option("-D,--define", options.definitions, "set an option of the build; repeat for several")
      .type_name("NAME=VALUE")
      .repeated();
  table.add_option("--jobs", options.jobs, "compile N files at once (default: all CPUs); each takes 2 GiB")
      .range(1, 4096)
      .type_name("N");
  table.add_flag("--dry-run", options.dry_run, "print the commands, run none");
  table.finish([&options] { return install(options); });
  return table;
}

}  // namespace headroom::cli
