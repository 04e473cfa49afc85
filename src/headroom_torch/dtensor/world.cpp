// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/world.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom_torch/dtensor/connection.h"
#include "headroom_torch/nccl/nccl_device.h"

#if HEADROOM_TORCH_HAS_GLOO
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif

namespace headroom::torch_runner::dtensor {
namespace {

void check(const WorldOptions& options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    throw Error(fmt::format("no rank {} in a world of {}: ranks count from 0", options.rank, options.size));
  }
  if (options.timeout.count() <= 0) {
    throw Error(fmt::format("time-out of {} ms: expected a positive time", options.timeout.count()));
  }
}

/// c10d appends a stack trace.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

#if HEADROOM_TORCH_HAS_GLOO

/// The interface in GLOO_SOCKET_IFNAME, as in PyTorch, else the one that routes to the store.
std::shared_ptr<::gloo::transport::Device> device_of(const WorldOptions& world) {
  using Gloo = c10d::ProcessGroupGloo;
  if (const auto interface = environment_variable("GLOO_SOCKET_IFNAME"))
    return Gloo::createDeviceForInterface(*interface);
  const std::string address = local_address_to({world.address, world.port});
  return address.empty() ? Gloo::createDefaultDevice() : Gloo::createDeviceForHostname(address);
}

c10::intrusive_ptr<c10d::Store> connect_store(const WorldOptions& options) {
  c10d::TCPStoreOptions store;
  store.port = options.port;
  store.isServer = options.rank == 0 && !options.launcher_listens;
  store.numWorkers = static_cast<std::size_t>(options.size);
  store.waitWorkers = true;
  store.timeout = options.timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(options.address, store);
  } catch (const std::exception& error) {
    throw Error(fmt::format(
        "rank {} of {} could not connect to the others at {}:{} within {} ms: {}; start every rank with "
        "the same address, a free port and its own rank",
        options.rank, options.size, options.address, options.port, options.timeout.count(),
        first_line(error.what())));
  }
}

c10::intrusive_ptr<CollectiveBackend> connect_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                                   const WorldOptions& world, int index, int size) {
  auto options = c10d::ProcessGroupGloo::Options::create(world.timeout);
  options->threads = 2;
  options->devices.push_back(device_of(world));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, index, size, options);
}

#endif

}  // namespace

ScopedRingEntry::ScopedRingEntry(const Group& group, std::string_view op, std::string_view dtype,
                                 std::int64_t elements_in, std::int64_t elements_out)
    : ring_(group.ring.get()) {
  if (ring_ != nullptr) call_ = ring_->begin(group.number, op, dtype, elements_in, elements_out);
}

ScopedRingEntry::~ScopedRingEntry() {
  if (ring_ != nullptr && !completed_) ring_->failed(call_);
}

void ScopedRingEntry::started() {
  if (ring_ != nullptr) ring_->started(call_);
}

void ScopedRingEntry::completed() {
  if (ring_ != nullptr) ring_->completed(call_);
  completed_ = true;
}

void refuse_call(const Group& group, std::string_view what, const std::exception& error) {
  throw Error(fmt::format(
      "{} over {} (ranks {}; this is rank {}) failed or took more than {} ms: {}; check that each of these "
      "ranks runs and calls the same operators in the same order",
      what, group.name, fmt::join(group.ranks, ", "), group.ranks[static_cast<std::size_t>(group.index)],
      group.timeout.count(), first_line(error.what())));
}

void barrier(const Group& group) {
  if (group.size() < 2) return;
  run_collective(group, "barrier", {}, {}, [](CollectiveBackend& backend) { return backend.barrier({}); });
}

World::World(const WorldOptions& options) : options_(options) {}
World::~World() = default;

WorldPtr World::connect(const WorldOptions& options) {
  check(options);
  WorldPtr world(new World(options));
  if (options.size > 1) {
#if HEADROOM_TORCH_HAS_GLOO
    world->store_ = connect_store(options);
#else
    throw Error(fmt::format(
        "a world of {} ranks needs gloo: install its headers (Debian: libgloo-dev; for a libtorch 2.x "
        "-DHEADROOM_TORCH_GLOO=DIR, docs/how-to/torch.md), then build again",
        options.size));
#endif
  }
  return world;
}

Group World::group(const std::vector<int>& ranks, const std::string& name, Transport transport) {
  const auto self = std::find(ranks.begin(), ranks.end(), rank());
  if (self == ranks.end()) {
    throw Error(fmt::format("{}: rank {} is not among the ranks {}", name, rank(), fmt::join(ranks, ", ")));
  }
  Group group{.connection = {},
              .ranks = ranks,
              .index = static_cast<int>(self - ranks.begin()),
              .name = name,
              .timeout = options_.timeout,
              .device = transport == Transport::kNccl ? nccl_device(options_.local_rank) : c10::kCPU,
              .ring = options_.ring};
  if (group.ring) group.number = group.ring->add_group(name, ranks);
#if HEADROOM_TORCH_HAS_GLOO
  if (group.size() > 1) {
    try {
      const std::string key = fmt::format("{}/{}", name, fmt::join(ranks, ","));
      const auto own =
          c10::make_intrusive<c10d::PrefixStore>(fmt::format("{}/{}", key, connections_[key]++), store_);
      group.connection = std::make_shared<Connection>(
          transport == Transport::kNccl ? connect_nccl(own, group.index, group.size(), options_.timeout)
                                        : connect_gloo(own, options_, group.index, group.size()));
    } catch (const std::exception& error) {
      throw Error(fmt::format("{}: rank {} could not connect to the ranks {} within {} ms: {}", name, rank(),
                              fmt::join(ranks, ", "), options_.timeout.count(), first_line(error.what())));
    }
  }
#endif
  return group;
}

}  // namespace headroom::torch_runner::dtensor
