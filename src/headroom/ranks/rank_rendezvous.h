// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/files.h"
#include "headroom/process/channel.h"
#include "headroom/ranks/rank_environment.h"

namespace headroom {

// Where a job's ranks connect. On one machine: a socket named by a hash of the job, in /run/user/UID/headroom
// if systemd made /run/user/UID, else in /tmp/headroom-UID; not by environment variables, which ssh, srun,
// cron and containers change. /run/user/UID may come and go with a login, so ranks try both. On several
// machines: MASTER_ADDR:MASTER_PORT, one port higher if torchrun listens there.

/// Rank 0 listens at the first.
std::vector<std::filesystem::path> rendezvous_sockets(const RankPlace& place);

/// "10.0.0.1:29500", "/tmp/headroom-0/ranks-52fd…".
std::string rendezvous_name(const RankPlace& place);

class RendezvousListener {
 public:
  /// Replaces only a dead leader's socket. Connections break after `silence` of the other machine. Throws
  /// Error if the place is taken, the folder is another user's or open to others, or there is no address for
  /// several machines.
  RendezvousListener(const RankPlace& place, std::chrono::milliseconds silence);
  ~RendezvousListener();

  /// Refuses other users on one machine. Nothing if no connection waits.
  std::optional<Channel> accept();
  int fd() const { return socket_.get(); }

 private:
  void listen_in_folder(const RankPlace& place, const std::filesystem::path& path);
  void listen_on_network(const RankPlace& place);

  Descriptor socket_;
  std::filesystem::path path_;  ///< empty on the network
  std::chrono::milliseconds silence_;
};

/// Nothing if `give_up` returns true. Throws Error if nobody listens until `deadline`, or, before sending a
/// byte, if the listener on this machine is another user's.
std::optional<Channel> connect_to_rendezvous(const RankPlace& place, const Deadline& deadline,
                                             std::chrono::milliseconds silence,
                                             const std::function<bool()>& give_up);

}  // namespace headroom
