// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/cache_layer.h"

#include <fmt/format.h>

#include <algorithm>

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

/// A new folder each time: a cache that remembers paths finds none of its own.
/// What is called `name` in `folder`, at any depth.
std::vector<fs::path> entries_called(const fs::path& folder, const std::string& name) {
  std::vector<fs::path> found;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(folder, options, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename() != name) continue;
    found.push_back(entry->path());
    entry.disable_recursion_pending();
  }
  return found;
}

/// What stands in `folder` itself.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    found.push_back(entry->path());
  return found;
}

LayerContent operator+(LayerContent a, const LayerContent& b) {
  return {a.files + b.files, a.bytes + b.bytes};
}

class FreshFolder final : public CacheLayer {
 public:
  FreshFolder(LayerSpec spec, fs::path parent, fs::path temporary)
      : spec_(std::move(spec)), parent_(std::move(parent)), temporary_(std::move(temporary)) {}

  void clear() override {
    if (!folder_.empty()) remove_tree(folder_);
    std::string stem = spec_.name.substr(spec_.name.find(':') + 1);
    folder_ = parent_ / fmt::format("{}.{}", stem, ++made_);
    std::error_code error;
    fs::create_directory(folder_, error);
    if (error) throw Error("cannot make " + in_quotes(folder_.string()) + ": " + error.message());
  }
  LayerContent content() const override {
    LayerContent content = content_of(folder_);
    for (const LayerPart& part : spec_.parts) {
      if (!part.in_temporary) continue;
      for (const fs::path& entry : entries_called(temporary_, part.entry))
        content = content + content_of(entry);
    }
    return content;
  }
  std::vector<std::string> parts() const override {
    if (spec_.parts.empty()) return {spec_.name};
    std::vector<std::string> names;
    for (const LayerPart& part : spec_.parts) names.push_back(part.name);
    return names;
  }
  void clear_part(std::size_t part) override {
    for (const fs::path& entry : entries_of_part(part)) remove_tree(entry);
  }
  std::vector<std::pair<std::string, std::string>> environment() const override {
    std::vector<std::pair<std::string, std::string>> variables = spec_.settings;
    variables.emplace_back(spec_.variable, folder_.string());
    return variables;
  }
  fs::path folder() const override { return folder_; }
  std::string damage() const override { return missing_folder(folder_, spec_.name); }

 private:
  std::vector<fs::path> entries_of_part(std::size_t index) const {
    if (spec_.parts.empty()) return entries_of(folder_);
    const LayerPart& part = spec_.parts.at(index);
    if (part.in_temporary) return entries_called(temporary_, part.entry);
    if (!part.entry.empty()) return entries_called(folder_, part.entry);
    std::vector<fs::path> rest = entries_of(folder_);
    std::erase_if(rest, [&](const fs::path& entry) {
      return std::ranges::find(spec_.parts, entry.filename().string(), &LayerPart::entry) !=
             spec_.parts.end();
    });
    return rest;
  }

  LayerSpec spec_;
  fs::path parent_, temporary_, folder_;
  int made_ = 0;
};

class FolderAtItsPlace final : public CacheLayer {
 public:
  FolderAtItsPlace(const LayerSpec& spec, const fs::path& journal)
      : name_(spec.name), aside_(spec.path, journal) {}

  void clear() override { aside_.empty_again(); }
  std::vector<std::string> parts() const override { return {name_}; }
  void clear_part(std::size_t /*part*/) override { clear(); }
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
  void clear_part(std::size_t /*part*/) override { clear(); }
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
  void clear_part(std::size_t /*part*/) override { clear(); }
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
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(folder, options, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unreadable;
    if (!entry->is_regular_file(unreadable) || entry->is_symlink(unreadable)) continue;
    const auto size = entry->file_size(unreadable);
    ++content.files;
    if (!unreadable) content.bytes += size;
  }
  return content;
}

}  // namespace headroom
