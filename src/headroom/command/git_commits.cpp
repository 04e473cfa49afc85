// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/git_commits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/fnv.h"
#include "headroom/base/text.h"
#include "headroom/command/measured_command.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTrees = 40;
constexpr const char* kTree = "tree";
constexpr const char* kBuilt = "built";  ///< written after a build

CommandResult run_git(const fs::path& folder, const std::vector<std::string>& words) {
  CommandSpec spec;
  spec.arguments = {"git", "-C", folder.empty() ? "." : folder.string()};
  spec.arguments.insert(spec.arguments.end(), words.begin(), words.end());
  spec.environment = {{"LC_ALL", "C"}, {"GIT_OPTIONAL_LOCKS", "0"}, {"GIT_TERMINAL_PROMPT", "0"}};
  spec.output = CommandSpec::Output::kCapture;
  spec.capture_bytes = std::size_t{1} << 26U;
  CommandResult result = run_command(spec);
  while (result.output.ends_with('\n')) result.output.pop_back();
  return result;
}

/// Nothing if git fails.
std::optional<std::string> ask_git(const fs::path& folder, const std::vector<std::string>& words) {
  CommandResult result = run_git(folder, words);
  if (!result.ok()) return std::nullopt;
  return std::move(result.output);
}

std::string require_git(const fs::path& folder, const std::vector<std::string>& words) {
  CommandResult result = run_git(folder, words);
  if (!result.ok()) throw Error(fmt::format("git {}: {}", join(words, " "), result.failure()));
  return std::move(result.output);
}

/// Why a commit may be missing, or nothing.
std::string shallow_clause(const fs::path& folder) {
  const bool is_shallow = ask_git(folder, {"rev-parse", "--is-shallow-repository"}) == "true";
  return is_shallow ? " in this shallow clone; git fetch --unshallow brings all" : "";
}

std::string key_of(std::string_view text) {
  Fnv1a sum;
  sum.add(text);
  return fmt::format("{:016x}", sum.value());
}

/// Of lines of a hash, a tab and a subject.
std::vector<GitCommit> commits_of(std::string_view log) {
  std::vector<GitCommit> commits;
  for (const std::string& line : split(log, '\n')) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) commits.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return commits;
}

std::string last_line(const fs::path& log) {
  std::vector<std::string> lines = split(read_file_or_empty(log), '\n');
  std::erase_if(lines, [](const std::string& line) { return line.empty(); });
  return lines.empty() ? "" : ": " + lines.back();
}

class Lock {
 public:
  explicit Lock(const fs::path& path) : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    int failed = file_.is_open() ? 0 : -1;
    while (failed == 0 && ::flock(file_.get(), LOCK_EX) != 0) failed = errno == EINTR ? 0 : -1;
    if (failed != 0) throw Error(fmt::format("cannot lock {}: {}", path.string(), std::strerror(errno)));
  }

 private:
  Descriptor file_;
};

}  // namespace

GitCommits::GitCommits(const fs::path& folder) {
  if (!find_program("git")) throw Error("commits are compared by the program git, which is not in PATH");
  const auto top = ask_git(folder, {"rev-parse", "--show-toplevel"});
  if (!top || top->empty()) throw Error("git: this folder is in no git repository with a working tree");
  top_ = *top;
  common_ = fs::canonical(top_ / require_git(top_, {"rev-parse", "--git-common-dir"}));
  prefix_ = require_git(folder, {"rev-parse", "--show-prefix"});
  kept_in_ = user_cache_folder() / "commits" / key_of(common_.string());
}

GitCommit GitCommits::commit_of(const std::string& name) const {
  std::optional<std::string> log;
  if (!name.starts_with('-'))
    log = ask_git(top_, {"log", "-1", "--format=%H%x09%s", name + "^{commit}", "--"});
  const std::vector<GitCommit> found = commits_of(log.value_or(""));
  if (found.empty()) {
    throw Error(fmt::format("git: no commit {}{}", quote(name), shallow_clause(top_)));
  }
  return found.front();
}

std::vector<GitCommit> GitCommits::range(const std::string& text) const {
  const std::size_t dots = text.find("..");
  if (text.find("...") != std::string::npos)
    throw Error("--git " + text + ": write two dots, as in main..HEAD");
  const auto end = [](const std::string& name) { return name.empty() ? "HEAD" : name; };
  const GitCommit from = commit_of(end(text.substr(0, dots)));
  const GitCommit to = commit_of(end(dots == std::string::npos ? "" : text.substr(dots + 2)));
  std::vector<GitCommit> commits{common_commit(from, to)};
  const std::string log = require_git(top_, {"log", "--first-parent", "--reverse", "--format=%H%x09%s",
                                             commits.front().sha + ".." + to.sha, "--"});
  std::ranges::move(commits_of(log), std::back_inserter(commits));
  return commits;
}

GitCommit GitCommits::merge_base(const std::string& name) const {
  return common_commit(commit_of(name), commit_of("HEAD"));
}

GitCommit GitCommits::common_commit(const GitCommit& a, const GitCommit& b) const {
  const auto base = ask_git(top_, {"merge-base", a.sha, b.sha});
  if (!base) {
    throw Error(
        fmt::format("git: {} and {} have no common commit{}", a.title(), b.title(), shallow_clause(top_)));
  }
  return commit_of(*base);
}

std::optional<GitCommit> GitCommits::uncommitted() const {
  const std::string sha = require_git(top_, {"stash", "create"});
  if (sha.empty()) return std::nullopt;
  return GitCommit{sha, "uncommitted changes"};
}

void GitCommits::check_out(const GitCommit& commit, const fs::path& tree) const {
  std::vector<std::string> init = {"init", "--quiet"};
  // Older gits know SHA-1 alone, and repeat an option that they do not know.
  if (ask_git(top_, {"rev-parse", "--show-object-format"}) == "sha256")
    init.emplace_back("--object-format=sha256");
  init.insert(init.end(), {"--", tree.string()});
  require_git(top_, init);
  write_file_atomically(tree / ".git/objects/info/alternates", (common_ / "objects").string() + "\n");
  if (fs::exists(common_ / "shallow")) fs::copy_file(common_ / "shallow", tree / ".git/shallow");
  if (const auto origin = ask_git(top_, {"config", "remote.origin.url"}))
    require_git(tree, {"config", "remote.origin.url", *origin});
  ask_git(tree, {"fetch", "--quiet", "--tags", common_.string()});  // for git describe
  require_git(tree, {"checkout", "--quiet", "--detach", commit.sha});
  check_out_submodules(tree);
}

void GitCommits::check_out_submodules(const fs::path& tree) const {
  const std::string prefix = "submodule.", suffix = ".path";
  const auto keys = ask_git(tree, {"config", "-f", ".gitmodules", "--name-only", "--get-regexp", "\\.path$"});
  if (!keys || keys->empty()) return;
  for (const std::string& key : split(*keys, '\n')) {
    const std::string name = key.substr(prefix.size(), key.size() - prefix.size() - suffix.size());
    const fs::path here = common_ / "modules" / name;
    if (fs::exists(here)) require_git(tree, {"config", "submodule." + name + ".url", here.string()});
  }
  require_git(
      tree, {"-c", "protocol.file.allow=always", "submodule", "update", "--quiet", "--init", "--recursive"});
}

GitCommits::Tree GitCommits::build(const GitCommit& commit, const std::string& build,
                                   const std::function<bool()>& is_interrupted) const {
  const fs::path kept = kept_in_ / (commit.short_sha() + "-" + key_of(commit.sha + build));
  const fs::path tree = kept / kTree, built = kept / kBuilt, log = kept / "build.log";
  make_folders_above(built);
  const Lock lock(kept / "lock");
  const Tree done{(tree / prefix_).lexically_normal(), tree, ""};
  if (fs::exists(built)) {
    fs::last_write_time(built, fs::file_time_type::clock::now());
    return done;
  }
  remove_tree(tree);
  check_out(commit, tree);
  if (!build.empty()) {
    if (!fs::is_directory(done.folder)) return {done.folder, tree, "it has no folder " + prefix_.string()};
    CommandSpec spec;
    spec.arguments = {"/bin/sh", "-c", "exec > \"$0\" 2>&1\n" + build, log.string()};
    spec.folder = done.folder;
    const CommandResult result = run_command(spec, is_interrupted);
    if (result.interrupted) throw Interrupted{};
    if (!result.ok())
      return {done.folder, tree,
              fmt::format("{}{} (all of it: {})", result.failure(), last_line(log), log.string())};
  }
  write_file_atomically(built, commit.sha + "\n");
  remove_old_trees();
  return done;
}

void GitCommits::remove_old_trees() const {
  std::vector<std::pair<fs::file_time_type, fs::path>> trees;
  std::error_code ignored;
  for (const fs::directory_entry& one : fs::directory_iterator(kept_in_, ignored)) {
    const fs::file_time_type used = fs::last_write_time(one.path() / kBuilt, ignored);
    if (!ignored) trees.emplace_back(used, one.path());
  }
  std::ranges::sort(trees, std::ranges::greater{});
  for (std::size_t i = kMaxTrees; i < trees.size(); ++i) remove_tree(trees[i].second);
}

}  // namespace headroom
