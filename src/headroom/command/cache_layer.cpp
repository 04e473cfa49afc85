// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/cache_layer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

LayerSpec variable_layer(std::string name, std::string variable,
                         std::vector<std::pair<std::string, std::string>> settings = {},
                         std::vector<LayerPart> parts = {}) {
  return {std::move(name),     LayerSpec::Kind::kVariable, std::move(variable),
          std::move(settings), std::move(parts),           ""};
}

/// As in torch/_inductor. Precompiled C++ headers are always below TMPDIR.
std::vector<LayerPart> inductor_parts() {
  return {{"inductor.fx_graph", {"fxgraph"}},
          {"inductor.aot_autograd", {"aotautograd"}},
          {"inductor.headers", {"precompiled_headers"}, true},
          {"inductor.triton", {"triton"}, false, "TRITON_CACHE_DIR"},
          {"inductor.autotune", {"cache", "*.best_config"}},
          {"inductor.code"}};
}

bool fits_any(const std::vector<std::string>& globs, const fs::path& path) {
  return std::ranges::any_of(path, [&](const fs::path& name) {
    return std::ranges::any_of(globs,
                               [&](const std::string& glob) { return fits_glob(glob, name.string()); });
  });
}

/// To add a layer placed by an environment variable, add a line. Settings make the cache keep short
/// compilations.
const std::vector<LayerSpec>& table() {
  static const std::vector<LayerSpec> layers{
      variable_layer("inductor", "TORCHINDUCTOR_CACHE_DIR", {}, inductor_parts()),
      variable_layer("triton", "TRITON_CACHE_DIR"),
      variable_layer("cuda", "CUDA_CACHE_PATH"),
      variable_layer("pocl", "POCL_CACHE_DIR"),
      variable_layer("ccache", "CCACHE_DIR"),
      variable_layer("jax", "JAX_COMPILATION_CACHE_DIR",
                     {{"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0"},
                      {"JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1"}}),
      variable_layer("xla", "XLA_PERSISTENT_CACHE_PATH"),
      variable_layer("openvino", "OPENVINO_TORCH_CACHE_DIR", {{"OPENVINO_TORCH_MODEL_CACHING", "True"}}),
  };
  return layers;
}

std::string expanded(std::string_view path) {
  const char* home = std::getenv("HOME");
  if (!path.starts_with("~/") || home == nullptr) return std::string(path);
  return home + std::string(path.substr(1));
}

bool is_variable_name(std::string_view text) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, fits);
}

LayerSpec layer_at(const std::string& text, LayerSpec::Kind kind, std::string_view path) {
  if (path.empty()) throw Error("missing path in the cache layer " + quote(text));
  return {text, kind, "", {}, {}, expanded(path)};
}

constexpr const char* kDropFile = "/proc/sys/vm/drop_caches";

Descriptor open_to_read(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.is_open()) return file;
  throw Error(fmt::format("cannot open {} to find its pages in the page cache: {}", quote(path.string()),
                          std::strerror(errno)));
}

void for_each_file(const fs::path& path, const std::function<void(const fs::path&)>& body) {
  if (!fs::is_directory(path)) return body(path);
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && !entry.is_symlink()) body(entry.path());
  }
}

std::uint64_t resident_bytes(const fs::path& path) {
  const Descriptor file = open_to_read(path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || info.st_size <= 0) return 0;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) throw Error("cannot map " + quote(path.string()) + ": " + std::strerror(errno));
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((size + page - 1) / page);
  const bool told = ::mincore(mapped, size, pages.data()) == 0;
  ::munmap(mapped, size);
  if (!told) return 0;
  const auto resident = std::ranges::count_if(pages, [](unsigned char flags) { return (flags & 1U) != 0; });
  return std::min<std::uint64_t>(size, static_cast<std::uint64_t>(resident) * page);
}

fs::path resolved(const fs::path& folder) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(folder), error);
  if (error) throw Error("cannot set aside " + quote(folder.string()) + ": " + error.message());
  if (!path.has_filename()) path = path.parent_path();
  return path;
}

void require_movable(const fs::path& folder) {
  const char* home = std::getenv("HOME");
  if (folder == folder.root_path() || (home != nullptr && folder == resolved(home))) {
    throw Error("cannot set aside " + quote(folder.string()) +
                ": it is the root or home folder; name the folder of one cache");
  }
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) {
    throw Error("cannot set aside " + quote(folder.string()) + ": it is not a folder");
  }
}

Descriptor open_folder(const fs::path& folder) {
  return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool lock(const Descriptor& folder) {
  return folder.is_open() && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
}

void move(const fs::path& from, const fs::path& to) {
  int error = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  if (error == EINVAL || error == ENOSYS) {  // file system without RENAME_NOREPLACE
    const bool taken = fs::exists(fs::symlink_status(to));
    error = taken ? EEXIST : ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  }
  if (error == 0) return;
  throw Error(fmt::format("cannot move {} to {}: {}", quote(from.string()), quote(to.string()),
                          std::strerror(error)));
}

fs::path name_beside(const fs::path& folder, const std::string& what) {
  const std::string stem = folder.filename().string();
  return folder.parent_path() / ((stem.starts_with('.') ? "" : ".") + stem + "." + what);
}

fs::path free_name_beside(const fs::path& folder, const std::string& what) {
  fs::path name = name_beside(folder, what);
  for (int i = 2; fs::exists(fs::symlink_status(name)); ++i) {
    name = name_beside(folder, fmt::format("{}-{}", what, i));
  }
  return name;
}

fs::path saved_stand_in(const fs::path& folder) {
  return name_beside(folder, "headroom-warm");
}

/// Call with the content locked.
std::string recover(const fs::path& folder, const fs::path& aside) {
  std::string kept;
  std::error_code error;
  if (fs::exists(folder, error) && ::rmdir(folder.c_str()) != 0) {
    const fs::path left = free_name_beside(folder, "headroom-left");
    move(folder, left);
    kept = "; files written there since are in " + left.string();
  }
  move(aside, folder);
  remove_tree(saved_stand_in(folder));
  return fmt::format("restored {}, which a killed run had set aside{}", folder.string(), kept);
}

std::string missing_folder(const fs::path& folder, const std::string& name) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return "";
  return "the command removed the folder of the cache layer " + quote(name);
}

template <typename Visit>
void visit_files(const fs::path& folder, Visit&& visit) {
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(folder, options, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unreadable;
    if (!fs::is_directory(entry->symlink_status(unreadable))) visit(entry->path());
  }
}

void add_file(LayerContent& content, const fs::path& file) {
  std::error_code unreadable;
  if (!fs::is_regular_file(fs::symlink_status(file, unreadable))) return;
  const auto size = fs::file_size(file, unreadable);
  ++content.files;
  if (!unreadable) content.bytes += size;
}

void rename_file(const fs::path& from, const fs::path& to) {
  make_folders_above(to);
  std::error_code error;
  fs::rename(from, to, error);
  if (error) {
    throw Error("cannot move " + quote(from.string()) + " to " + quote(to.string()) + ": " + error.message());
  }
}

/// Uses a new folder each time, because caches may remember paths.
class FreshFolder final : public CacheLayer {
 public:
  FreshFolder(LayerSpec spec, fs::path parent, fs::path temporary)
      : spec_(std::move(spec)),
        parent_(std::move(parent)),
        temporary_(std::move(temporary)),
        aside_(parent_ / (stem() + ".aside")) {}

  void clear() override {
    if (!folder_.empty()) remove_tree(folder_);
    forget_taken();
    folder_ = parent_ / fmt::format("{}.{}", stem(), ++made_);
    std::error_code error;
    fs::create_directory(folder_, error);
    if (error) throw Error("cannot make " + quote(folder_.string()) + ": " + error.message());
  }
  LayerContent content() const override {
    LayerContent content;
    visit_own([&](const fs::path& file, std::size_t) { add_file(content, file); });
    return content;
  }
  std::vector<std::string> parts() const override {
    if (spec_.parts.empty()) return {spec_.name};
    std::vector<std::string> names;
    for (const LayerPart& part : spec_.parts) names.push_back(part.name);
    return names;
  }
  LayerContent part_content(std::size_t part) const override {
    LayerContent content;
    for (const fs::path& file : files_of(part)) add_file(content, file);
    return content;
  }
  void clear_part(std::size_t part) override {
    forget_taken();
    for (const fs::path& file : files_of(part)) {
      const fs::path to = aside_ / std::to_string(taken_.size());
      rename_file(file, to);
      taken_.emplace_back(file, to);
    }
  }
  void restore_part(std::size_t part) override {
    for (const fs::path& file : files_of(part)) fs::remove(file);
    for (const auto& [original, aside] : taken_) rename_file(aside, original);
    forget_taken();
  }
  std::vector<std::pair<std::string, std::string>> environment() const override {
    std::vector<std::pair<std::string, std::string>> variables = spec_.settings;
    variables.emplace_back(spec_.variable, folder_.string());
    return variables;
  }
  std::vector<std::pair<std::string, std::string>> environment_of_parts() const override {
    std::vector<std::pair<std::string, std::string>> variables;
    for (const LayerPart& part : spec_.parts) {
      if (!part.variable.empty())
        variables.emplace_back(part.variable, (folder_ / part.entries.front()).string());
    }
    return variables;
  }
  fs::path folder() const override { return folder_; }
  std::string damage() const override { return missing_folder(folder_, spec_.name); }

 private:
  std::string stem() const { return spec_.name.substr(spec_.name.find(':') + 1); }

  template <typename Visit>
  void visit_own(Visit&& visit) const {
    for (const bool in_temporary : {false, true}) {
      const fs::path& root = in_temporary ? temporary_ : folder_;
      visit_files(root, [&](const fs::path& file) {
        const auto part = spec_.part_of(file.lexically_relative(root), in_temporary);
        if (part) visit(file, *part);
      });
    }
  }
  std::vector<fs::path> files_of(std::size_t part) const {
    std::vector<fs::path> files;
    visit_own([&](const fs::path& file, std::size_t its) {
      if (its == part) files.push_back(file);
    });
    return files;
  }
  void forget_taken() {
    remove_tree(aside_);
    taken_.clear();
  }

  LayerSpec spec_;
  fs::path parent_, temporary_, aside_, folder_;
  std::vector<std::pair<fs::path, fs::path>> taken_;
  int made_ = 0;
};

class FolderAtItsPlace final : public CacheLayer {
 public:
  FolderAtItsPlace(const LayerSpec& spec, const fs::path& journal)
      : name_(spec.name), aside_(spec.path, journal) {}

  void clear() override { aside_.empty_again(); }
  std::vector<std::string> parts() const override { return {name_}; }
  void clear_part(std::size_t /*part*/) override { aside_.replace_stand_in(); }
  void restore_part(std::size_t /*part*/) override { aside_.restore_stand_in(); }
  LayerContent content() const override { return content_of(aside_.folder()); }
  fs::path folder() const override { return aside_.folder(); }
  std::string damage() const override { return missing_folder(aside_.folder(), name_); }
  void put_back() override { aside_.put_back(); }

 private:
  std::string name_;
  SetAsideFolder aside_;
};

class PagesOfFiles final : public CacheLayer {
 public:
  explicit PagesOfFiles(const LayerSpec& spec) : path_(spec.path) {
    if (!fs::exists(path_))
      throw Error("no file or folder " + quote(path_.string()) + " to drop from the page cache");
  }

  void clear() override { drop_pages_of(path_); }
  std::vector<std::string> parts() const override { return {"pages:" + path_.string()}; }
  LayerContent content() const override {
    const ResidentPages pages = resident_pages_of(path_);
    return {pages.files, pages.bytes};
  }
  std::string warmth(const LayerContent& content) const override {
    if (content.bytes == 0) return "";
    return fmt::format(
        "{} bytes of {} stayed in the page cache: a running program maps them, or their file system is in "
        "memory (tmpfs)",
        content.bytes, quote(path_.string()));
  }
  std::string damage() const override { return ""; }

 private:
  fs::path path_;
};

class WholePageCache final : public CacheLayer {
 public:
  WholePageCache() {
    if (const std::string why = drop_pages_error(); !why.empty()) {
      throw Error("cannot drop the page cache: " + why + "; name the files instead: --layer pages:PATH");
    }
  }

  void clear() override { drop_all_pages(); }
  std::vector<std::string> parts() const override { return {"pages"}; }
  LayerContent content() const override { return {0, all_cached_bytes()}; }
  std::string warmth(const LayerContent&) const override {
    return "";
  }  // mapped pages of running programs stay
  std::string damage() const override { return ""; }
};

}  // namespace

std::string LayerSpec::method() const {
  if (kind == Kind::kVariable) {
    const bool in_both = std::ranges::any_of(parts, &LayerPart::in_temporary);
    return "fresh folder in " + variable + (in_both ? ", and TMPDIR" : "");
  }
  if (kind == Kind::kFolder) return path + " set aside";
  return path.empty() ? "whole page cache dropped" : path + " dropped from the page cache";
}

std::optional<std::size_t> LayerSpec::part_of(const fs::path& file, bool in_temporary) const {
  if (parts.empty()) return in_temporary ? std::nullopt : std::optional<std::size_t>(0);
  std::optional<std::size_t> rest;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].in_temporary != in_temporary) continue;
    if (parts[i].entries.empty()) rest = i;
    if (fits_any(parts[i].entries, file)) return i;
  }
  return rest;
}

std::span<const LayerSpec> named_layers() {
  return table();
}

LayerSpec parse_layer(std::string_view asked) {
  const std::string text(asked);
  const auto after = [&](std::string_view prefix) { return std::string_view(asked).substr(prefix.size()); };
  if (text == "pages") return {text, LayerSpec::Kind::kPages, "", {}, {}, ""};
  if (text.starts_with("pages:")) return layer_at(text, LayerSpec::Kind::kPages, after("pages:"));
  if (text.starts_with("folder:")) return layer_at(text, LayerSpec::Kind::kFolder, after("folder:"));
  if (text.starts_with("env:")) {
    const std::string variable(after("env:"));
    if (!is_variable_name(variable)) {
      throw Error("missing or invalid environment variable in the cache layer " + quote(text));
    }
    return variable_layer(text, variable);
  }
  std::vector<std::string> names;
  for (const LayerSpec& layer : table()) {
    if (layer.name == text) return layer;
    names.push_back(layer.name);
  }
  throw Error("unknown cache layer " + quote(text) + did_you_mean(text, names) +
              "; known: " + join(names, ", ") + ", and env:VARIABLE, folder:PATH, pages:PATH, pages");
}

void drop_pages_of(const fs::path& path) {
  for_each_file(path, [](const fs::path& file_path) {
    const Descriptor file = open_to_read(file_path);
    ::fdatasync(file.get());
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  });
}

ResidentPages resident_pages_of(const fs::path& path) {
  ResidentPages pages;
  for_each_file(path, [&](const fs::path& file) {
    const std::uint64_t bytes = resident_bytes(file);
    pages.files += bytes > 0 ? 1 : 0;
    pages.bytes += bytes;
  });
  return pages;
}

std::string drop_pages_error() {
  const Descriptor file(::open(kDropFile, O_WRONLY | O_CLOEXEC));
  return file.is_open() ? "" : fmt::format("{}: {}", kDropFile, std::strerror(errno));
}

void drop_all_pages() {
  ::sync();
  const Descriptor file(::open(kDropFile, O_WRONLY | O_CLOEXEC));
  if (!file.is_open() || ::write(file.get(), "3\n", 2) != 2) {
    throw Error(fmt::format("cannot drop the page cache: {}: {}", kDropFile, std::strerror(errno)));
  }
}

std::uint64_t all_cached_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kib = 0;
    if (words >> name >> kib && name == "Cached:") return kib * 1024;
  }
  return 0;
}

SetAsideFolder::SetAsideFolder(const fs::path& folder, const fs::path& journal) : folder_(resolved(folder)) {
  require_movable(folder_);
  aside_ = name_beside(folder_, "headroom-aside");
  if (fs::exists(fs::symlink_status(aside_))) {
    throw Error(fmt::format("{} is already set aside in {}: wait for the run that uses it, or move it back",
                            quote(folder_.string()), quote(aside_.string())));
  }
  existed_ = fs::exists(folder_);
  if (existed_) {
    struct stat info {};
    lock_ = open_folder(folder_);
    if (!lock_.is_open() || ::fstat(lock_.get(), &info) != 0) {
      throw Error(fmt::format("cannot set aside {}: {}", quote(folder_.string()), std::strerror(errno)));
    }
    mode_ = info.st_mode & 07777U;
    // Lock before writing the note: recover_set_aside() skips locked folders.
    if (!lock(lock_))
      throw Error(quote(folder_.string()) + " is being set aside by another program; wait for it");
    note_ = journal / fmt::format("{}-{}.json", ::getpid(), std::hash<std::string>{}(folder_.string()));
    make_folders_above(note_);
    write_file_atomically(note_,
                          dump_json(Json{{"folder", folder_.string()}, {"aside", aside_.string()}}) + "\n");
    try {
      move(folder_, aside_);
    } catch (const Error&) {
      fs::remove(note_);
      throw;
    }
  }
  is_aside_ = true;
  try {
    make_stand_in();
  } catch (const Error&) {
    put_back();
    throw;
  }
}

SetAsideFolder::~SetAsideFolder() {
  try {
    put_back();
  } catch (const Error&) {  // the note stays for recover_set_aside()
  }
}

void SetAsideFolder::require_stand_in() const {
  if (is_restored()) throw Error(quote(folder_.string()) + " was moved back by another program");
}

void SetAsideFolder::make_stand_in() {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw Error("cannot make " + quote(folder_.string()) + " again: " + error.message());
  if (existed_) fs::permissions(folder_, static_cast<fs::perms>(mode_), error);
}

bool SetAsideFolder::is_restored() const {
  struct stat original {
  }, there{};
  return lock_.is_open() && ::fstat(lock_.get(), &original) == 0 && ::stat(folder_.c_str(), &there) == 0 &&
         original.st_dev == there.st_dev && original.st_ino == there.st_ino;
}

void SetAsideFolder::empty_again() {
  require_stand_in();
  remove_tree(folder_);
  remove_tree(saved_stand_in(folder_));
  make_stand_in();
}

void SetAsideFolder::replace_stand_in() {
  require_stand_in();
  move(folder_, saved_stand_in(folder_));
  make_stand_in();
}

void SetAsideFolder::restore_stand_in() {
  require_stand_in();
  remove_tree(folder_);
  move(saved_stand_in(folder_), folder_);
}

void SetAsideFolder::put_back() {
  if (!is_aside_) return;
  is_aside_ = false;
  std::error_code error;
  if (is_restored()) {
    fs::remove(note_, error);
    return;
  }
  remove_tree(folder_);
  remove_tree(saved_stand_in(folder_));
  if (!existed_) return;
  // A process may still be writing.
  if (fs::exists(folder_)) move(folder_, free_name_beside(folder_, "headroom-left"));
  with_context("the content of " + quote(folder_.string()) + " is in " + quote(aside_.string()),
               [&] { move(aside_, folder_); });
  fs::remove(note_, error);
}

std::vector<std::string> recover_set_aside(const fs::path& journal) {
  std::vector<std::string> told;
  std::error_code error;
  std::vector<fs::path> notes;
  for (fs::directory_iterator entry(journal, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".json") notes.push_back(entry->path());
  }
  std::ranges::sort(notes);
  for (const fs::path& note : notes) {
    const std::string source = note.string();
    const Json json = parse_json(read_file(note), source);
    const fs::path folder = json_string(json, "folder", source), aside = json_string(json, "aside", source);
    const Descriptor content = open_folder(aside);
    // Not moved yet, or restored already. A live writer of the note holds the lock.
    if (!content.is_open()) {
      const Descriptor in_place = open_folder(folder);
      if (!in_place.is_open() || lock(in_place)) fs::remove(note, error);
      continue;
    }
    if (!lock(content)) continue;
    told.push_back(recover(folder, aside));
    fs::remove(note, error);
  }
  return told;
}

std::string CacheLayer::warmth(const LayerContent& content) const {
  return content.files == 0 ? "" : fmt::format("it held {} files", content.files);
}

std::string CacheLayer::damage() const {
  return "";
}

std::unique_ptr<CacheLayer> open_layer(const LayerSpec& spec, const fs::path& folder,
                                       const fs::path& temporary, const fs::path& journal) {
  switch (spec.kind) {
    case LayerSpec::Kind::kVariable:
      return std::make_unique<FreshFolder>(spec, folder, temporary);
    case LayerSpec::Kind::kFolder:
      return std::make_unique<FolderAtItsPlace>(spec, journal);
    case LayerSpec::Kind::kPages:
      break;
  }
  if (spec.path.empty()) return std::make_unique<WholePageCache>();
  return std::make_unique<PagesOfFiles>(spec);
}

LayerContent content_of(const fs::path& folder) {
  LayerContent content;
  visit_files(folder, [&](const fs::path& file) { add_file(content, file); });
  return content;
}

LeftOver left_over(const fs::path& temporary, std::span<const LayerSpec> layers) {
  LeftOver left;
  std::map<fs::path, LayerContent> folders;
  visit_files(temporary, [&](const fs::path& file) {
    const fs::path path = file.lexically_relative(temporary);
    if (std::ranges::any_of(layers,
                            [&](const LayerSpec& layer) { return layer.part_of(path, true).has_value(); }))
      return;
    add_file(left.content, file);
    add_file(folders[path.parent_path()], file);
  });
  const auto most = std::ranges::max_element(
      folders, {}, [](const auto& folder) { return std::pair(folder.second.bytes, folder.second.files); });
  if (most != folders.end()) left.where = most->first.string();
  return left;
}

}  // namespace headroom
