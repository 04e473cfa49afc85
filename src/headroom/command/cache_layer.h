// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headroom/command/layer_spec.h"

namespace headroom {

/// What a layer holds: files and their bytes; of the page cache, the files that have pages in it and the
/// bytes of those pages (of the whole page cache, no files).
struct LayerContent {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

/// A layer that can be made cold as often as wanted, and says what is in it.
class CacheLayer {
 public:
  virtual ~CacheLayer() = default;
  /// Makes it cold. Throws Error.
  virtual void clear() = 0;
  virtual LayerContent content() const = 0;
  /// The caches in it that can be taken away by themselves, by name.
  virtual std::vector<std::string> parts() const = 0;
  virtual LayerContent part_content(std::size_t /*part*/) const { return content(); }
  /// Makes one of parts() cold for the next run, the folder of the layer staying where it is. Throws Error.
  virtual void take_away(std::size_t /*part*/) { clear(); }
  /// Puts it back as it was, in place of what was written since then. Of a page cache the run in between has
  /// read again what it needs. Throws Error.
  virtual void bring_back(std::size_t /*part*/) {}
  /// What has to be in the environment of a command for it to use this layer.
  virtual std::vector<std::pair<std::string, std::string>> environment() const { return {}; }
  /// The same of its parts, where no other layer has these variables.
  virtual std::vector<std::pair<std::string, std::string>> environment_of_parts() const { return {}; }
  /// The folder that the command finds; empty for page caches.
  virtual std::filesystem::path folder() const { return {}; }
  /// Why the content just after clear() does not count as cold; empty where it does.
  virtual std::string warmth(const LayerContent& content) const;
  /// What a run did to the layer so that the next one cannot be warm; empty where it is fine.
  virtual std::string damage() const;
  /// Undoes what setting the layer up did. Throws Error.
  virtual void put_back() {}
};

/// `temporary` is the TMPDIR of the commands; `folder` is where fresh folders are made, and `journal` the
/// folder that remembers what was set aside. Throws Error when the layer cannot be made cold here, saying
/// what would do instead.
std::unique_ptr<CacheLayer> open_layer(const LayerSpec& spec, const std::filesystem::path& folder,
                                       const std::filesystem::path& temporary,
                                       const std::filesystem::path& journal);

/// Files of a folder, at any depth, and their bytes. What cannot be read is not counted.
LayerContent content_of(const std::filesystem::path& folder);

/// What commands left in their TMPDIR.
struct LeftOver {
  LayerContent content;
  std::string where{};  ///< the folder below TMPDIR that has most of its bytes; empty: TMPDIR itself
};

/// What of `temporary` is of none of the layers.
LeftOver left_over(const std::filesystem::path& temporary, std::span<const LayerSpec> layers);

}  // namespace headroom
