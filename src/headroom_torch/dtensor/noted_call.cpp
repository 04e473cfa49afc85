// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/noted_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/connection.h"

namespace headroom::torch_runner::dtensor {

NotedCall::NotedCall(const Group& group, std::string_view op, std::string_view dtype,
                     std::int64_t elements_in, std::int64_t elements_out)
    : ring_(group.ring.get()) {
  if (ring_ != nullptr) call_ = ring_->begin(group.number, op, dtype, elements_in, elements_out);
}

NotedCall::~NotedCall() {
  if (ring_ != nullptr && !completed_) ring_->failed(call_);
}

void NotedCall::started() {
  if (ring_ != nullptr) ring_->started(call_);
}

void NotedCall::completed() {
  if (ring_ != nullptr) ring_->completed(call_);
  completed_ = true;
}

void refuse_call(const Group& group, std::string_view what, const std::exception& error) {
  const std::string text = error.what();
  throw Error(fmt::format(
      "{} over {} (ranks {}; this is rank {}) failed or took more than {} ms: {}; see whether "
      "each of these ranks runs and calls the same operators in the same order",
      what, group.name, fmt::join(group.ranks, ", "), group.ranks[static_cast<std::size_t>(group.index)],
      group.timeout.count(), text.substr(0, text.find('\n'))));
}

void barrier(const Group& group) {
  if (group.size() < 2) return;
  NotedCall note(group, "barrier", "", 0, 0);
  try {
    const auto work = group.connection->backend->barrier({});
    note.started();
    work->wait();
    note.completed();
  } catch (const std::exception& error) {
    refuse_call(group, "barrier", error);
  }
}

}  // namespace headroom::torch_runner::dtensor
