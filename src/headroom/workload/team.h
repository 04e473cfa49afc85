// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace headroom {

/// Threads that share a task: calls body(worker, workers) once for each of several workers at the same time,
/// and returns when all are done. `body` must not throw.
using Team = std::function<void(const std::function<void(int worker, int workers)>& body)>;

/// A team whose threads are made for each task: for setting up, never for what is timed.
Team fresh_threads(int workers);

}  // namespace headroom
