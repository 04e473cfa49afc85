// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "headroom/trace/columns/names.h"

namespace headroom::trace::readers {

/// Texts as the file has them, numbered by one reading thread for itself. The views that it hands out are
/// good as long as it lives, also to other threads while it goes on.
class LocalNames {
 public:
  enum class Form {
    kText,  ///< the inside of a string: escapes are to be resolved
    kJson   ///< a value that is kept as JSON
  };
  explicit LocalNames(Form form) : form_(form) {}

  /// Eight bytes of the text may be read, whatever its size.
  NameId intern(std::string_view raw);
  /// True when the text has a bad escape or is no UTF-8.
  bool is_dirty(NameId id) const { return any_dirty_ && dirty_[id]; }
  /// Appends those that are new since the last call.
  void take_new(std::vector<std::string_view>& out);

 private:
  NameId intern_slowly(std::string_view raw);

  static constexpr std::size_t kRecent = 4096;
  Form form_;
  Names raw_;
  std::vector<NameId> recent_ = std::vector<NameId>(kRecent, kNoName);  ///< by a quick hash
  std::vector<bool> dirty_;
  bool any_dirty_ = false;
  std::size_t taken_ = 0;
};

/// What one reading thread's numbers mean in the trace. Worked out once for each text, when it first occurs
/// in a batch that is appended.
class NameTranslation {
 public:
  explicit NameTranslation(LocalNames::Form form) : form_(form) {}
  void learn(const std::vector<std::string_view>& raws);
  NameId translate(NameId id, Names& names) {
    if (id == kNoName) return kNoName;
    return translated_[id] == kNoName ? translate_new(id, names) : translated_[id];
  }

 private:
  NameId translate_new(NameId id, Names& names);

  LocalNames::Form form_;
  std::vector<std::string_view> raws_;
  std::vector<NameId> translated_;
};

}  // namespace headroom::trace::readers
