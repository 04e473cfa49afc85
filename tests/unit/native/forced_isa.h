// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace headroom::native {

/// HEADROOM_ISA while it lives; then what it was before, which the suite may have set for all tests.
class ForcedIsa {
 public:
  explicit ForcedIsa(const char* name) {
    if (const char* found = std::getenv("HEADROOM_ISA")) before_ = found;
    if (name == nullptr) {
      unsetenv("HEADROOM_ISA");
    } else {
      setenv("HEADROOM_ISA", name, 1);
    }
  }
  ~ForcedIsa() {
    if (before_) {
      setenv("HEADROOM_ISA", before_->c_str(), 1);
    } else {
      unsetenv("HEADROOM_ISA");
    }
  }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace headroom::native
