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

/// Where a rank stands among those that exchange, and how it tells the others a number: they all call
/// `gather`, and each gets the numbers of all, by rank.
struct ExchangeRing {
  int rank = 0, ranks = 2;
  std::function<std::vector<std::int64_t>(std::int64_t)> gather;
  std::chrono::milliseconds timeout{30'000};
};

/// The ranks of one machine in a ring: in each round every rank sends so many bytes to the next, and receives
/// as many from the one before. No library is between them and the kernel: what moves data between processes
/// can hardly be faster, so that it is the limit of collectives.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Throws Error where a neighbour does not answer within the time-out, or is gone.
  virtual void run(std::uint64_t rounds) = 0;
  /// Whether what the last round brought is what the rank before sent.
  virtual bool is_right() const = 0;
};

/// By "loopback" (a TCP connection to 127.0.0.1) or "shared_memory" (one copy into memory that both see, one
/// out of it, piece by piece at the same time). All ranks of the ring call it together. Throws Error for
/// another name, or where these processes cannot reach each other so.
std::unique_ptr<Exchange> make_exchange(const std::string& way, std::size_t bytes, const ExchangeRing& ring);

}  // namespace headroom
