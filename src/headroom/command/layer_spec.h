// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

/// A cache of its own within a layer: files and folders by name, in the folder of the layer or, for programs
/// that do not heed it, anywhere below TMPDIR.
struct LayerPart {
  std::string name;                    ///< "inductor.fx_graph"
  std::vector<std::string> entries{};  ///< globs of names; none: all of the layer's folder that no other has
  bool in_temporary = false;
  std::string variable{};  ///< that would lead out of the layer: pointed at the first entry of its folder
};

/// One place where a command finds again what an earlier run of it left.
struct LayerSpec {
  enum class Kind {
    kVariable,  ///< an environment variable names the folder: it is pointed at a fresh one
    kFolder,    ///< a folder at a fixed place: set aside for the time, and put back
    kPages      ///< the page cache, of some files or of the whole machine
  };
  std::string name;  ///< "inductor"; "env:MY_CACHE", "folder:/x", "pages:/x", "pages" where it has none
  Kind kind = Kind::kVariable;
  std::string variable;                                       ///< kVariable
  std::vector<std::pair<std::string, std::string>> settings;  ///< without which it would not be used
  std::vector<LayerPart> parts{};  ///< kVariable: what can be taken away by itself; empty: all of it alone
  std::string path{};  ///< kFolder: the folder; kPages: a file or folder, empty for the whole page cache

  /// How it is made cold: "fresh folder in CCACHE_DIR".
  std::string method() const;
  /// Which of its parts a file is of (0 where it has none): `file` is relative to the folder of the layer, or
  /// to TMPDIR. Nothing where the file is not the layer's.
  std::optional<std::size_t> part_of(const std::filesystem::path& file, bool in_temporary) const;
};

/// The layers that are known by name.
std::span<const LayerSpec> named_layers();

/// The layer that a text means: a name of the table; env:VARIABLE; folder:PATH; pages:PATH; pages. A leading
/// "~/" is the home folder. Throws Error.
LayerSpec parse_layer(std::string_view text);

}  // namespace headroom
