// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/local_threads.h"

namespace headroom::trace::readers {
namespace {

constexpr char kBetween = '\x1f';  // Proper JSON has none.

}  // namespace

std::uint32_t LocalThreads::intern(std::string_view pid, std::string_view tid) {
  // Neighbours in a file mostly share their thread.
  if (last_ != kNoName && pid.size() == pid_size_ && key_.size() == pid.size() + 1 + tid.size() &&
      key_.starts_with(pid) && key_.ends_with(tid)) {
    return last_;
  }
  key_.assign(pid);
  key_.push_back(kBetween);
  key_.append(tid);
  pid_size_ = pid.size();
  return last_ = keys_.intern(key_);
}

void LocalThreads::take_new(std::vector<std::string_view>& out) {
  while (taken_ < keys_.size()) out.push_back(keys_[static_cast<NameId>(taken_++)]);
}

ThreadKey split_key(std::string_view key) {
  const std::size_t between = key.find(kBetween);
  return {key.substr(0, between), key.substr(between + 1)};
}

}  // namespace headroom::trace::readers
