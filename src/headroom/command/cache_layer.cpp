// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/cache_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/command/page_cache.h"
#include "headroom/command/set_aside.h"
#include "headroom/process/temporary_folder.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

std::string missing_folder(const fs::path& folder, const std::string& name) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return "";
  return "the command removed the folder of the cache layer " + in_quotes(name);
}

/// Calls `visit` with all that is not a folder, at any depth.
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
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  fs::rename(from, to, error);
  if (error) {
    throw Error("cannot move " + in_quotes(from.string()) + " to " + in_quotes(to.string()) + ": " +
                error.message());
  }
}

/// A new folder each time: a cache that remembers paths finds none of its own.
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
    if (error) throw Error("cannot make " + in_quotes(folder_.string()) + ": " + error.message());
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
  void take_away(std::size_t part) override {
    forget_taken();
    for (const fs::path& file : files_of(part)) {
      const fs::path to = aside_ / std::to_string(taken_.size());
      rename_file(file, to);
      taken_.emplace_back(file, to);
    }
  }
  void bring_back(std::size_t part) override {
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

  /// With each file of the layer, and the part that it is of.
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
  std::vector<std::pair<fs::path, fs::path>> taken_;  ///< where a file was, and where it is
  int made_ = 0;
};

class FolderAtItsPlace final : public CacheLayer {
 public:
  FolderAtItsPlace(const LayerSpec& spec, const fs::path& journal)
      : name_(spec.name), aside_(spec.path, journal) {}

  void clear() override { aside_.empty_again(); }
  std::vector<std::string> parts() const override { return {name_}; }
  void take_away(std::size_t /*part*/) override { aside_.take_stand_in_away(); }
  void bring_back(std::size_t /*part*/) override { aside_.bring_stand_in_back(); }
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
      throw Error("no file or folder " + in_quotes(path_.string()) + " to drop from the page cache");
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
        "{} bytes of {} stayed in the page cache: they are mapped by a running program, or their "
        "file system is memory itself",
        content.bytes, in_quotes(path_.string()));
  }
  std::string damage() const override { return ""; }

 private:
  fs::path path_;
};

class WholePageCache final : public CacheLayer {
 public:
  WholePageCache() {
    if (const std::string why = why_not_drop_all_pages(); !why.empty()) {
      throw Error("cannot drop the page cache: " + why + "; name the files instead, --layer pages:PATH");
    }
  }

  void clear() override { drop_all_pages(); }
  std::vector<std::string> parts() const override { return {"pages"}; }
  LayerContent content() const override { return {0, all_cached_bytes()}; }
  std::string warmth(const LayerContent&) const override { return ""; }  // what is mapped and running stays
  std::string damage() const override { return ""; }
};

}  // namespace

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
