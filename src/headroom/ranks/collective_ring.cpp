// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collective_ring.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <type_traits>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr std::uint64_t kLayout = 0x48524452'00000001;  // "HRDR", version 1
constexpr std::size_t kListed = 64;

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// A text cut to what fits, ended by a zero.
template <std::size_t Size>
void put(std::array<char, Size>& field, std::string_view text) {
  const std::size_t length = std::min(text.size(), Size - 1);
  std::memcpy(field.data(), text.data(), length);
  field[length] = '\0';
}

template <std::size_t Size>
std::string text_of(const std::array<char, Size>& field) {
  return {field.data(), ::strnlen(field.data(), Size)};
}

struct SlotFields {
  std::uint64_t call = 0, sequence = 0;
  std::int64_t elements_in = 0, elements_out = 0;
  std::int64_t created_ns = 0, started_ns = 0, completed_ns = 0;
  std::int32_t group = 0;
  CollectiveState state = CollectiveState::kCreated;
  std::array<char, 24> op{};
  std::array<char, 8> dtype{};
};

struct SharedGroup {
  std::atomic<std::uint64_t> next_sequence{0};
  std::int32_t size = 0;
  std::array<char, 60> name{};
  std::array<std::int32_t, kListed> ranks{};
};

CollectiveGroup group_of(const SharedGroup& shared) {
  CollectiveGroup group{text_of(shared.name), {}, shared.size};
  const auto listed = std::clamp<std::int32_t>(shared.size, 0, kListed);
  group.ranks.assign(shared.ranks.begin(), shared.ranks.begin() + listed);
  return group;
}

bool is_of(const SharedGroup& shared, std::string_view name, std::span<const int> ranks) {
  const std::size_t listed = std::min(ranks.size(), kListed);
  return std::cmp_equal(shared.size, ranks.size()) &&
         text_of(shared.name) == name.substr(0, shared.name.size() - 1) &&
         std::equal(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(listed), shared.ranks.begin());
}

}  // namespace

/// A slot is written by the thread whose call it is. `version` is odd while it writes, so that a reader of
/// another process knows what it must not take (a sequence lock).
struct CollectiveRing::Slot {
  std::atomic<std::uint64_t> version{0};
  SlotFields fields;
};

struct CollectiveRing::Shared {
  std::uint64_t layout = kLayout;
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint32_t> groups{0};
  std::array<SharedGroup, kGroups> group{};
  std::array<Slot, kCalls> slot{};
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");
static_assert(std::is_trivially_copyable_v<SlotFields>);

const char* collective_state_name(CollectiveState state) {
  switch (state) {
    case CollectiveState::kCreated:
      return "created";
    case CollectiveState::kStarted:
      return "started";
    case CollectiveState::kCompleted:
      return "completed";
    case CollectiveState::kFailed:
      break;
  }
  return "failed";
}

void CollectiveRing::Unmap::operator()(Shared* shared) const {
  ::munmap(shared, sizeof(Shared));
}

CollectiveRing::CollectiveRing(Descriptor file) : file_(std::move(file)) {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) {
    throw Error(fmt::format("cannot map the ring of collectives: {}", std::strerror(errno)));
  }
  shared_.reset(static_cast<Shared*>(memory));
}

CollectiveRing CollectiveRing::create() {
  Descriptor file(::memfd_create("headroom-collectives", MFD_CLOEXEC));
  if (!file.is_open() || ::ftruncate(file.get(), sizeof(Shared)) != 0) {
    throw Error(fmt::format("cannot make memory for the ring of collectives: {}", std::strerror(errno)));
  }
  CollectiveRing ring(std::move(file));
  new (ring.shared_.get()) Shared;
  return ring;
}

CollectiveRing CollectiveRing::inherited() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return create();
  const auto number = to_integer(text);
  struct stat status {};
  if (!number || *number < 0 || *number > 1 << 20 || ::fstat(static_cast<int>(*number), &status) != 0 ||
      std::cmp_less(status.st_size, sizeof(Shared))) {
    throw Error(fmt::format("{}={} is no ring of collectives: it is set by the program that starts ranks",
                            kVariable, in_quotes(text)));
  }
  // Programs started from here shall not take it for theirs.
  ::fcntl(static_cast<int>(*number), F_SETFD, FD_CLOEXEC);
  CollectiveRing ring{Descriptor(static_cast<int>(*number))};
  ::unsetenv(kVariable);
  if (ring.shared_->layout != kLayout) {
    throw Error(fmt::format("the ring of collectives in {} is of another version of headroom", kVariable));
  }
  return ring;
}

int CollectiveRing::add_group(std::string_view name, std::span<const int> ranks) {
  const std::uint32_t known = shared_->groups.load();
  for (std::uint32_t i = 0; i < known; ++i) {
    if (is_of(shared_->group[i], name, ranks)) return static_cast<int>(i);
  }
  const std::uint32_t number = std::min(known, static_cast<std::uint32_t>(kGroups) - 1);
  SharedGroup& group = shared_->group[number];
  group.size = static_cast<std::int32_t>(ranks.size());
  put(group.name, name);
  const std::size_t listed = std::min(ranks.size(), kListed);
  std::copy_n(ranks.begin(), listed, group.ranks.begin());
  shared_->groups.store(number + 1, std::memory_order_release);
  return static_cast<int>(number);
}

CollectiveRing::Slot* CollectiveRing::slot_of(std::uint64_t call) {
  Slot& slot = shared_->slot[call % kCalls];
  return slot.fields.call == call ? &slot : nullptr;
}

template <typename Change>
void CollectiveRing::change(std::uint64_t call, Change&& change) {
  Slot* slot = slot_of(call);
  if (slot == nullptr) return;
  slot->version.fetch_add(1, std::memory_order_acq_rel);
  change(slot->fields);
  slot->version.fetch_add(1, std::memory_order_release);
}

std::uint64_t CollectiveRing::begin(int group, std::string_view op, std::string_view dtype,
                                    std::int64_t elements_in, std::int64_t elements_out) {
  const std::uint64_t call = shared_->calls.fetch_add(1);
  Slot& slot = shared_->slot[call % kCalls];
  slot.version.fetch_add(1, std::memory_order_acq_rel);
  SlotFields& fields = slot.fields;
  fields = {};
  fields.call = call;
  fields.group = group;
  fields.sequence = shared_->group[static_cast<std::size_t>(group)].next_sequence.fetch_add(1);
  put(fields.op, op);
  put(fields.dtype, dtype);
  fields.elements_in = elements_in;
  fields.elements_out = elements_out;
  fields.created_ns = now_ns();
  slot.version.fetch_add(1, std::memory_order_release);
  return call;
}

void CollectiveRing::started(std::uint64_t call) {
  change(call, [](SlotFields& fields) {
    fields.started_ns = now_ns();
    fields.state = CollectiveState::kStarted;
  });
}

void CollectiveRing::completed(std::uint64_t call) {
  change(call, [](SlotFields& fields) {
    fields.completed_ns = now_ns();
    fields.state = CollectiveState::kCompleted;
  });
}

void CollectiveRing::failed(std::uint64_t call) {
  change(call, [](SlotFields& fields) {
    fields.completed_ns = now_ns();
    fields.state = CollectiveState::kFailed;
  });
}

CollectiveHistory CollectiveRing::read() const {
  CollectiveHistory history;
  history.now_ns = now_ns();
  const auto groups = std::min<std::size_t>(shared_->groups.load(std::memory_order_acquire), kGroups);
  for (std::size_t i = 0; i < groups; ++i) history.groups.push_back(group_of(shared_->group[i]));
  const std::uint64_t calls = shared_->calls.load(std::memory_order_acquire);
  for (std::uint64_t call = calls > kCalls ? calls - kCalls : 0; call < calls; ++call) {
    const Slot& slot = shared_->slot[call % kCalls];
    const std::uint64_t before = slot.version.load(std::memory_order_acquire);
    const SlotFields fields = slot.fields;
    std::atomic_thread_fence(std::memory_order_acquire);
    // A rank that was killed while it wrote leaves a slot that is in work for ever.
    const bool is_whole = before % 2 == 0 && before == slot.version.load(std::memory_order_relaxed);
    if (!is_whole || fields.call != call || std::cmp_greater_equal(fields.group, groups)) continue;
    history.calls.push_back({fields.group, fields.sequence, text_of(fields.op), text_of(fields.dtype),
                             fields.elements_in, fields.elements_out, fields.created_ns, fields.started_ns,
                             fields.completed_ns, fields.state});
  }
  return history;
}

}  // namespace headroom
