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

/// A separate cache within a layer: files and folders by name, in the folder of the layer or, for programs
/// that ignore it, anywhere below TMPDIR.
struct LayerPart {
  std::string name;                    ///< "inductor.fx_graph"
  std::vector<std::string> entries{};  ///< globs of names; empty: the rest of the layer's folder
  bool in_temporary = false;
  std::string variable{};  ///< variable that would lead outside the layer; set to the first entry
};

/// A place where a command finds results of its earlier runs.
struct LayerSpec {
  enum class Kind {
    kVariable,  ///< folder named by an environment variable, set to a fresh one
    kFolder,    ///< fixed folder: moved aside, then put back
    kPages      ///< page cache of some files or of the machine
  };
  std::string name;  ///< "inductor"; without a name "env:MY_CACHE", "folder:/x", "pages:/x", "pages"
  Kind kind = Kind::kVariable;
  std::string variable;                                       ///< for kVariable
  std::vector<std::pair<std::string, std::string>> settings;  ///< environment that enables the cache
  std::vector<LayerPart> parts{};  ///< for kVariable: separable parts; empty: the whole layer
  std::string path{};  ///< for kFolder: the folder; for kPages: a file or folder, empty for the machine

  /// Describes how it is made cold: "fresh folder in CCACHE_DIR".
  std::string method() const;
  /// Returns the index of the part that a file belongs to (0 if there are no parts), or nothing if it is not
  /// the layer's. `file` is relative to the folder of the layer or to TMPDIR.
  std::optional<std::size_t> part_of(const std::filesystem::path& file, bool in_temporary) const;
};

/// The built-in layers.
std::span<const LayerSpec> named_layers();

/// Parses a layer: a built-in name, env:VARIABLE, folder:PATH, pages:PATH or pages. A leading "~/" is the
/// home folder. Throws Error.
LayerSpec parse_layer(std::string_view text);

struct ResidentPages {
  std::uint64_t files = 0;  ///< with at least one page in memory
  std::uint64_t bytes = 0;  ///< of those pages
};

/// Drops the pages of a file, or of all files of a folder, from the page cache after writing them back: dirty
/// pages would stay. Throws Error if one cannot be opened.
void drop_pages_of(const std::filesystem::path& path);

/// Returns the cached pages of a file, or of all files of a folder (mincore). Files that this user cannot
/// write count as fully cached: the kernel does not tell. Throws Error.
ResidentPages resident_pages_of(const std::filesystem::path& path);

/// Returns why this process may not drop the machine's page cache; empty if it may.
std::string why_not_drop_all_pages();

/// Writes back everything and drops the machine's page cache, dentries and inodes included. Throws Error.
void drop_all_pages();

/// "Cached" of /proc/meminfo in bytes; 0 if unknown.
std::uint64_t all_cached_bytes();

/// Moves a folder aside (renames it within its parent), puts an empty one in its place, and moves it back in
/// put_back() or the destructor. A note in the journal folder, written first, lets recover_set_aside() move
/// it back after a kill or power failure. The original content is never removed; the stand-in is.
class SetAsideFolder {
 public:
  /// The folder may be missing. Throws Error: not a folder, "/" or the home folder, an unwritable parent, set
  /// aside by another running program.
  SetAsideFolder(const std::filesystem::path& folder, const std::filesystem::path& journal);
  ~SetAsideFolder();
  SetAsideFolder(const SetAsideFolder&) = delete;
  SetAsideFolder& operator=(const SetAsideFolder&) = delete;

  /// The path of the folder, links resolved; now the empty one.
  const std::filesystem::path& folder() const { return folder_; }
  /// The path of the original content.
  const std::filesystem::path& aside() const { return aside_; }
  /// Empties the stand-in. Throws Error.
  void empty_again();
  /// Moves the stand-in away and puts an empty one in its place. Throws Error.
  void take_stand_in_away();
  /// Moves the stand-in back and removes the empty one. Throws Error.
  void bring_stand_in_back();
  /// Moves the folder back. Throws Error with its location if that fails.
  void put_back();

 private:
  void make_stand_in();
  void require_stand_in() const;
  /// Whether another program moved the folder back: then nothing there is ours to remove.
  bool is_back_already() const;

  std::filesystem::path folder_, aside_, note_;
  Descriptor lock_;
  bool existed_ = false;
  bool is_aside_ = false;
  unsigned mode_ = 0755;
};

/// Moves back the folders of killed programs; later content of the place is kept beside it. Returns a
/// sentence about each. Throws Error if one cannot be moved.
std::vector<std::string> recover_set_aside(const std::filesystem::path& journal);

/// The content of a layer: files and bytes. For a page cache: files with cached pages and the bytes of these
/// pages; no file count for the whole machine.
struct LayerContent {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

/// A layer that can be made cold repeatedly and reports its content.
class CacheLayer {
 public:
  virtual ~CacheLayer() = default;
  /// Makes it cold. Throws Error.
  virtual void clear() = 0;
  virtual LayerContent content() const = 0;
  /// Names of the separable caches in it.
  virtual std::vector<std::string> parts() const = 0;
  virtual LayerContent part_content(std::size_t /*part*/) const { return content(); }
  /// Makes one of parts() cold for the next run; the layer's folder stays. Throws Error.
  virtual void take_away(std::size_t /*part*/) { clear(); }
  /// Restores the part and removes what was written since. Does nothing for a page cache: the run has read
  /// its pages again. Throws Error.
  virtual void bring_back(std::size_t /*part*/) {}
  /// Environment variables that make a command use this layer.
  virtual std::vector<std::pair<std::string, std::string>> environment() const { return {}; }
  /// Environment variables of its parts; environment() of any layer takes precedence.
  virtual std::vector<std::pair<std::string, std::string>> environment_of_parts() const { return {}; }
  /// The folder that the command uses; empty for page caches.
  virtual std::filesystem::path folder() const { return {}; }
  /// Returns why the content just after clear() is not cold; empty if it is.
  virtual std::string warmth(const LayerContent& content) const;
  /// Returns how a run damaged the layer so that the next run cannot be warm; empty if intact.
  virtual std::string damage() const;
  /// Undoes the set-up of the layer. Throws Error.
  virtual void put_back() {}
};

/// Opens a layer. `folder` is the parent of fresh folders, `temporary` the TMPDIR of the commands, `journal`
/// the folder with notes on folders set aside. Throws Error with alternatives if the layer cannot be made
/// cold here.
std::unique_ptr<CacheLayer> open_layer(const LayerSpec& spec, const std::filesystem::path& folder,
                                       const std::filesystem::path& temporary,
                                       const std::filesystem::path& journal);

/// Returns the readable files below a folder and their bytes.
LayerContent content_of(const std::filesystem::path& folder);

/// Files that commands left in their TMPDIR.
struct LeftOver {
  LayerContent content;
  std::string where{};  ///< subfolder with most of the bytes; empty: TMPDIR itself
};

/// Returns the files in `temporary` that belong to no layer.
LeftOver left_over(const std::filesystem::path& temporary, std::span<const LayerSpec> layers);

}  // namespace headroom
