// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "headroom/trace/names.h"

namespace headroom::trace {

/// Texts as the file has them, numbered by one reading thread for itself. What they mean (escapes, encoding)
/// is worked out once per distinct text, and their number in the trace when a batch is appended.
class LocalNames {
 public:
  enum class Form {
    kText,  ///< the inside of a string: escapes are resolved
    kJson   ///< a value that is kept as JSON
  };
  explicit LocalNames(Form form) : form_(form) {}

  NameId intern(std::string_view raw);
  /// True when the text has a bad escape or is no UTF-8.
  bool is_dirty(NameId id) const { return any_dirty_ && dirty_[id]; }
  /// The number in `names`, which has to be the same table in every call.
  NameId translate(NameId id, Names& names);

 private:
  std::string meaning(std::string_view raw, bool& is_clean) const;

  Form form_;
  Names raw_;
  std::vector<bool> dirty_;
  bool any_dirty_ = false;
  std::vector<NameId> translated_;
};

}  // namespace headroom::trace
