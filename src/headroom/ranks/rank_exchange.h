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

/// `gather` is collective and returns every rank's number.
struct ExchangeRing {
  int rank = 0, ranks = 2;
  std::function<std::vector<std::int64_t>(std::int64_t)> gather;
  std::chrono::milliseconds timeout{30'000};
};

/// Ring exchange on one machine: in each round every rank sends a block to the next. Without a library, it is
/// a practical upper limit for collectives.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Throws Error if a neighbour is gone or times out.
  virtual void run(std::uint64_t rounds) = 0;
  virtual bool is_right() const = 0;
};

/// Collective. `way` is "loopback" (TCP to 127.0.0.1) or "shared_memory" (one copy in, one copy out). Throws
/// Error for another name or if the processes cannot reach each other.
std::unique_ptr<Exchange> make_exchange(const std::string& way, std::size_t bytes, const ExchangeRing& ring);

}  // namespace headroom
