// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "headroom/process/descriptor.h"

namespace headroom {

/// A new folder in $TMPDIR (or /tmp), removed with all that is in it when this is, also where programs took
/// the permissions away that removing needs, or removed it themselves. What a program of ours left behind
/// because it was killed is removed when the next such folder is made: each has a marker, and is locked for
/// as long as it is in use, in any container that shares the file system. What has no marker of this user is
/// left alone, whatever its name.
class TemporaryFolder {
 public:
  /// Throws Error (no such $TMPDIR, not writable, disk full).
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;

  const std::filesystem::path& path() const { return path_; }

 private:
  void remove() noexcept;

  std::filesystem::path path_;
  Descriptor lock_;
};

/// Removes a folder with all that is in it, also where permissions were taken away. What cannot be removed
/// stays.
void remove_tree(const std::filesystem::path& folder) noexcept;

}  // namespace headroom
