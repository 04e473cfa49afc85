// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/local_threads.h"

namespace headroom::trace {
namespace {

constexpr char kBetween = '\x1f';  // No JSON string holds it as it stands.

}  // namespace

std::uint32_t LocalThreads::intern(std::string_view pid, std::string_view tid) {
  // Neighbours in a file mostly share their thread.
  if (last_ != 0xffffffffU && pid.size() == last_pid_size_ && key_.size() == pid.size() + 1 + tid.size() &&
      key_.starts_with(pid) && key_.ends_with(tid)) {
    return last_;
  }
  key_.assign(pid);
  key_.push_back(kBetween);
  key_.append(tid);
  last_pid_size_ = pid.size();
  return last_ = keys_.intern(key_);
}

LocalThreads::Pair LocalThreads::operator[](std::uint32_t id) const {
  const std::string_view key = keys_[id];
  const std::size_t between = key.find(kBetween);
  return {key.substr(0, between), key.substr(between + 1)};
}

}  // namespace headroom::trace
