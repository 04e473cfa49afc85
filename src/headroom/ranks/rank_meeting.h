// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "headroom/process/channel.h"
#include "headroom/ranks/rank_environment.h"

namespace headroom {

/// The listening end of the place where the ranks of a job meet, see rank_relay.h.
class MeetingListener {
 public:
  /// A connection made here breaks when nothing came from the other machine for `silence`. Throws Error when
  /// somebody listens there already, or the ranks run on several machines and none was named.
  MeetingListener(const RankPlace& place, std::chrono::milliseconds silence);

  /// The next that connects, of this user where that can be known; nothing when nobody did within `longest`.
  std::optional<Channel> accept(std::chrono::milliseconds longest);
  int fd() const { return socket_.get(); }

 private:
  Descriptor socket_;
  std::chrono::milliseconds silence_;
};

/// Connects to the listener of the job, which may be later than we. Nothing where `give_up` says so. The
/// connection breaks when nothing came from the other machine for `timeout`, though nobody may have written:
/// the kernels ask each other. Throws Error when nobody listens within the time.
std::optional<Channel> connect_to_meeting(const RankPlace& place, std::chrono::milliseconds timeout,
                                          const std::function<bool()>& give_up);

}  // namespace headroom
