// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headroom {

/// The place of a rank in a ring. `gather` is called by all ranks and returns everyone's number, by rank.
struct ExchangeRing {
  int rank = 0, ranks = 2;
  std::function<std::vector<std::int64_t>(std::int64_t)> gather;
  std::chrono::milliseconds timeout{30'000};
};

/// Ring exchange between ranks of one machine: in each round every rank sends a block to the next and
/// receives one from the previous. Without a library in between, it is a practical upper limit for
/// collectives.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Throws Error if a neighbour is gone or does not answer within the time-out.
  virtual void run(std::uint64_t rounds) = 0;
  /// Whether the last received block is what the previous rank sent.
  virtual bool is_right() const = 0;
};

/// Makes an exchange over "loopback" (TCP to 127.0.0.1) or "shared_memory" (one copy in, one copy out,
/// pipelined by pieces). All ranks of the ring call it together. Throws Error for another name or if the
/// processes cannot reach each other.
std::unique_ptr<Exchange> make_exchange(const std::string& way, std::size_t bytes, const ExchangeRing& ring);

}  // namespace headroom
