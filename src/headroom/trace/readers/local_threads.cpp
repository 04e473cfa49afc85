// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/local_threads.h"

#include <string>

#include "headroom/trace/readers/quick_compare.h"

namespace headroom::trace::readers {
namespace {

constexpr char kBetween = '\x1f';  // Proper JSON has none.

}  // namespace

bool LocalThreads::is_recent(std::string_view pid, std::string_view tid) const {
  return recent_.id != kNoName && pid.size() == recent_.pid_size && tid.size() == recent_.tid_size &&
         are_equal(pid.data(), recent_.pid.data(), pid.size()) &&
         are_equal(tid.data(), recent_.tid.data(), tid.size());
}

std::uint32_t LocalThreads::intern(std::string_view pid, std::string_view tid) {
  if (is_recent(pid, tid)) return recent_.id;
  std::string key(pid);
  key.push_back(kBetween);
  key.append(tid);
  const std::uint32_t id = keys_.intern(key);
  if (pid.size() + 8 <= recent_.pid.size() && tid.size() + 8 <= recent_.tid.size()) {
    recent_.pid_size = pid.copy(recent_.pid.data(), pid.size());
    recent_.tid_size = tid.copy(recent_.tid.data(), tid.size());
    recent_.id = id;
  }
  return id;
}

void LocalThreads::take_new(std::vector<std::string_view>& out) {
  while (taken_ < keys_.size()) out.push_back(keys_[static_cast<NameId>(taken_++)]);
}

ThreadKey split_key(std::string_view key) {
  const std::size_t between = key.find(kBetween);
  return {key.substr(0, between), key.substr(between + 1)};
}

}  // namespace headroom::trace::readers
