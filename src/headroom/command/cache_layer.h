// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/files.h"

namespace headroom {

/// Entries of the layer's folder, or anywhere below TMPDIR for programs that ignore it.
struct LayerPart {
  std::string name;                    ///< "inductor.fx_graph"
  std::vector<std::string> entries{};  ///< globs of names; empty: the rest of the layer's folder
  bool in_temporary = false;
  std::string variable{};  ///< that would lead outside the layer; set to the first entry
};

/// Where a command keeps results between runs.
struct LayerSpec {
  enum class Kind {
    kVariable,  ///< folder in an environment variable; a fresh one
    kFolder,    ///< fixed folder: moved aside, then put back
    kPages
  };
  std::string name;  ///< "inductor"; unnamed layers: "env:MY_CACHE", "folder:/x", "pages:/x", "pages"
  Kind kind = Kind::kVariable;
  std::string variable;
  std::vector<std::pair<std::string, std::string>> settings;  ///< environment that enables the cache
  std::vector<LayerPart> parts{};  ///< separable parts of a kVariable layer; empty: none
  std::string path{};  ///< the folder (kFolder), or a file or folder (kPages; empty: whole machine)

  /// "fresh folder in CCACHE_DIR".
  std::string method() const;
  /// The part (0 without parts), or nothing for other files. `file` is relative to the layer's folder or
  /// TMPDIR.
  std::optional<std::size_t> part_of(const std::filesystem::path& file, bool in_temporary) const;
};

std::span<const LayerSpec> named_layers();

/// Parses a built-in name, env:VARIABLE, folder:PATH, pages:PATH or pages; expands "~/". Throws Error.
LayerSpec parse_layer(std::string_view text);

struct ResidentPages {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

/// Writes back first. Throws Error if a file cannot be opened.
void drop_pages_of(const std::filesystem::path& path);

/// Cached pages by mincore. Files not writable by this user count as fully cached, as the kernel hides their
/// state. Throws Error.
ResidentPages resident_pages_of(const std::filesystem::path& path);

/// Empty if it is allowed.
std::string drop_pages_error();

/// Includes dentries and inodes; writes back first. Throws Error.
void drop_all_pages();

/// "Cached" of /proc/meminfo; 0 if unknown.
std::uint64_t all_cached_bytes();

/// Replaces a folder by an empty stand-in until put_back() or destruction, by renaming within its parent. A
/// note in the journal folder lets recover_set_aside() undo it after a crash. Never removes the original.
class SetAsideFolder {
 public:
  /// The folder may be missing. Throws Error: not a folder, "/" or the home folder, unwritable parent,
  /// already set aside.
  SetAsideFolder(const std::filesystem::path& folder, const std::filesystem::path& journal);
  ~SetAsideFolder();
  SetAsideFolder(const SetAsideFolder&) = delete;
  SetAsideFolder& operator=(const SetAsideFolder&) = delete;

  /// The stand-in, links resolved.
  const std::filesystem::path& folder() const { return folder_; }
  const std::filesystem::path& aside() const { return aside_; }
  void empty_again();
  /// Makes a new empty one. Throws Error.
  void replace_stand_in();
  /// Removes the new stand-in. Throws Error.
  void restore_stand_in();
  /// Throws Error with the original's location on failure.
  void put_back();

 private:
  void make_stand_in();
  void require_stand_in() const;
  /// Another program restored the folder, so its content is not ours to remove.
  bool is_restored() const;

  std::filesystem::path folder_, aside_, note_;
  Descriptor lock_;
  bool existed_ = false;
  bool is_aside_ = false;
  unsigned mode_ = 0755;
};

/// Restores folders of killed programs; newer content gets another name. Returns a sentence per folder.
/// Throws Error.
std::vector<std::string> recover_set_aside(const std::filesystem::path& journal);

/// For a page cache: files with cached pages, and these pages.
struct LayerContent {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

class CacheLayer {
 public:
  virtual ~CacheLayer() = default;
  /// Throws Error.
  virtual void clear() = 0;
  virtual LayerContent content() const = 0;
  virtual std::vector<std::string> parts() const = 0;
  virtual LayerContent part_content(std::size_t /*part*/) const { return content(); }
  /// Makes a part cold for the next run. Throws Error.
  virtual void clear_part(std::size_t /*part*/) { clear(); }
  /// Drops later files. A run fills page caches anyway. Throws Error.
  virtual void restore_part(std::size_t /*part*/) {}
  virtual std::vector<std::pair<std::string, std::string>> environment() const { return {}; }
  /// Variables for parts; environment() of any layer takes precedence.
  virtual std::vector<std::pair<std::string, std::string>> environment_of_parts() const { return {}; }
  /// Empty for page caches.
  virtual std::filesystem::path folder() const { return {}; }
  /// Why `content` just after clear() is not cold, or empty.
  virtual std::string warmth(const LayerContent& content) const;
  /// Why the next run cannot be warm, or empty.
  virtual std::string damage() const;
  virtual void put_back() {}
};

/// `folder`: parent of fresh folders; `temporary`: TMPDIR of the commands. Throws Error with alternatives if
/// the layer cannot be made cold.
std::unique_ptr<CacheLayer> open_layer(const LayerSpec& spec, const std::filesystem::path& folder,
                                       const std::filesystem::path& temporary,
                                       const std::filesystem::path& journal);

LayerContent content_of(const std::filesystem::path& folder);

/// Files in TMPDIR that belong to no layer.
struct LeftOver {
  LayerContent content;
  std::string where{};  ///< subfolder with most of the bytes; empty: TMPDIR itself
};

LeftOver left_over(const std::filesystem::path& temporary, std::span<const LayerSpec> layers);

}  // namespace headroom
