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

// Where the programs of a job's ranks connect. On one machine: a socket named after a hash of the job, in a
// folder that is private to the user, whatever address was announced. Its place depends on the user's number
// alone, never on the environment, which ssh, srun, cron and containers give differently to ranks of one
// launcher: /run/user/UID/headroom where systemd made /run/user/UID, else /tmp/headroom-UID. As /run/user/UID
// may come and go with a login, who connects looks in both. Ranks in containers of their own share /tmp, or
// meet over the network. On several machines: MASTER_ADDR:MASTER_PORT, one port higher if torchrun listens
// there.

/// The sockets where the ranks of a job on one machine may meet; rank 0 listens at the first.
std::vector<std::filesystem::path> meeting_sockets(const RankPlace& place);

/// Names the meeting place in messages: "10.0.0.1:29500", "/tmp/headroom-0/ranks-52fd…".
std::string meeting_name(const RankPlace& place);

/// The listening socket of a job's meeting place.
class MeetingListener {
 public:
  /// Replaces the socket of a leader that was killed, not that of one which runs. Connections break after
  /// `silence` without a sign of the other machine. Throws Error if the place is taken, if the folder belongs
  /// to another user or lets others in, or if the ranks run on several machines and no address was given.
  MeetingListener(const RankPlace& place, std::chrono::milliseconds silence);
  /// Removes the socket's file.
  ~MeetingListener();

  /// Returns the next connection, of this user where that is known; nothing if none waits.
  std::optional<Channel> accept();
  int fd() const { return socket_.get(); }

 private:
  void listen_in_folder(const RankPlace& place, const std::filesystem::path& path);
  void listen_on_network(const RankPlace& place);

  Descriptor socket_;
  std::filesystem::path path_;  ///< of the socket's file; empty on the network
  std::chrono::milliseconds silence_;
};

/// Connects to whoever listens at the meeting place; rank 0 may start later. Nothing if `give_up` returns
/// true. The connection breaks after `silence` without a sign of the other machine (kernel keep-alive).
/// Throws Error if nobody listens until `deadline`, or on one machine if the listener is another user's:
/// before a byte is sent.
std::optional<Channel> connect_to_meeting(const RankPlace& place, const Deadline& deadline,
                                          std::chrono::milliseconds silence,
                                          const std::function<bool()>& give_up);

}  // namespace headroom
