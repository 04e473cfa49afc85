// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headroom/process/descriptor.h"

namespace headroom {

/// A folder moved away (renamed within its parent) with an empty one in its place, and moved back by
/// put_back() or the destructor. A note in the journal folder, written before anything is moved, lets
/// recover_set_aside() move it back after a kill or a power failure. Nothing that was in the folder is ever
/// removed; what is put in its place meanwhile is.
class SetAsideFolder {
 public:
  /// A folder that is not there yet is fine. Throws Error: no folder, "/" or the home folder, a parent that
  /// cannot be written to, set aside by another program that still runs.
  SetAsideFolder(const std::filesystem::path& folder, const std::filesystem::path& journal);
  ~SetAsideFolder();
  SetAsideFolder(const SetAsideFolder&) = delete;
  SetAsideFolder& operator=(const SetAsideFolder&) = delete;

  /// Where the folder was, all links resolved: now the empty one.
  const std::filesystem::path& folder() const { return folder_; }
  /// Where its content is meanwhile.
  const std::filesystem::path& aside() const { return aside_; }
  /// Makes the stand-in empty again. Throws Error.
  void empty_again();
  /// Moves the stand-in away as well, and puts an empty one in its place. Throws Error.
  void take_stand_in_away();
  /// Moves it back, in place of the empty one and what is in that by now. Throws Error.
  void bring_stand_in_back();
  /// Throws Error when the folder could not be moved back, saying where it is.
  void put_back();

 private:
  void make_stand_in();
  void require_stand_in() const;
  /// Whether somebody else has moved the folder back: then nothing there is ours to remove.
  bool is_back_already() const;

  std::filesystem::path folder_, aside_, note_;
  Descriptor lock_;
  bool existed_ = false;
  bool is_aside_ = false;
  unsigned mode_ = 0755;
};

/// Moves back what programs that were killed had set aside; what was put in its place since then is kept
/// beside it. Returns a sentence about each. Throws Error when one cannot be moved.
std::vector<std::string> recover_set_aside(const std::filesystem::path& journal);

}  // namespace headroom
