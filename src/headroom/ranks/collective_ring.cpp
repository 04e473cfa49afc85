// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collective_ring.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/tables/table.h"

namespace headroom {
namespace {

constexpr std::uint64_t kLayout = 0x48524452'00000001;  // "HRDR", version 1
constexpr std::size_t kListed = 64;

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Cuts `text` to fit and ends it with a zero.
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

bool is_under_way(const CollectiveEntry& entry) {
  return entry.state == CollectiveState::kCreated || entry.state == CollectiveState::kStarted;
}

std::string ago(const CollectiveHistory& history, std::int64_t time_ns) {
  return time_ns == 0 ? "" : format_time_ns(static_cast<double>(history.now_ns - time_ns));
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> numbers;
  for (const int rank : ranks) numbers.push_back(std::to_string(rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(numbers, ", ");
}

std::string size_text(const CollectiveEntry& entry) {
  const std::string in = std::to_string(entry.elements_in);
  return (entry.elements_in == entry.elements_out ? in : fmt::format("{} to {}", in, entry.elements_out)) +
         " " + entry.dtype;
}

std::string call_text(const CollectiveEntry& entry) {
  return fmt::format("{} {}", entry.op, entry.sequence);
}

struct Latest {
  const CollectiveHistory* history = nullptr;
  const CollectiveEntry* entry = nullptr;  // null: none yet
};

struct GroupView {
  CollectiveGroup group;
  std::map<int, Latest> latest;  // ranks with a known history

  std::optional<std::uint64_t> newest_under_way() const {
    std::optional<std::uint64_t> newest;
    for (const auto& [rank, last] : latest) {
      if (last.entry != nullptr && is_under_way(*last.entry)) {
        newest = std::max(newest.value_or(0), last.entry->sequence);
      }
    }
    return newest;
  }
};

std::vector<GroupView> views_of(const RankHistories& histories) {
  std::vector<GroupView> views;
  const auto view_of = [&](const CollectiveGroup& group) -> GroupView& {
    const auto found = std::ranges::find(views, group, &GroupView::group);
    return found != views.end() ? *found : views.emplace_back(GroupView{group, {}});
  };
  for (const auto& [rank, history] : histories) {
    for (const CollectiveGroup& group : history.groups) view_of(group).latest[rank].history = &history;
    for (const CollectiveEntry& entry : history.calls) {
      // Oldest first: the last one wins.
      view_of(history.groups[static_cast<std::size_t>(entry.group)]).latest[rank].entry = &entry;
    }
  }
  // Such a rank did not arrive either.
  for (GroupView& view : views) {
    for (const int rank : view.group.ranks) {
      const auto known = histories.find(rank);
      if (known != histories.end()) view.latest.try_emplace(rank, Latest{&known->second, nullptr});
    }
  }
  return views;
}

std::string absent_text(const GroupView& view, int rank) {
  const Latest& last = view.latest.at(rank);
  std::string text = fmt::format("; rank {} did not arrive", rank);
  if (last.entry == nullptr) return text + ": it started no collective";
  const CollectiveEntry& entry = *last.entry;
  text += ": its last was " + call_text(entry);
  if (is_under_way(entry)) return text + ", running for " + ago(*last.history, entry.created_ns);
  return text + fmt::format(", {} {} ago", collective_state_name(entry.state),
                            ago(*last.history, entry.completed_ns));
}

std::string mismatch_text(const CollectiveEntry& first, int rank, const CollectiveEntry& entry) {
  const bool same = entry.op == first.op && entry.dtype == first.dtype &&
                    entry.elements_in == first.elements_in && entry.elements_out == first.elements_out;
  if (same) return "";
  return fmt::format("; but rank {} calls {} ({}) instead", rank, call_text(entry), size_text(entry));
}

std::string unfinished_call_text(const GroupView& view, std::uint64_t sequence) {
  std::vector<int> waiting, absent;
  const Latest* first = nullptr;
  std::string odd;
  for (const auto& [rank, last] : view.latest) {
    if (last.entry == nullptr || last.entry->sequence < sequence) {
      absent.push_back(rank);
    } else if (last.entry->sequence == sequence && is_under_way(*last.entry)) {
      waiting.push_back(rank);
      if (first == nullptr) first = &last;
      odd += mismatch_text(*first->entry, rank, *last.entry);
    }
  }
  if (first == nullptr) return "";
  std::string text = fmt::format("{} {} for {} in {} of '{}' ({})", ranks_text(waiting),
                                 waiting.size() == 1 ? "has waited" : "have waited",
                                 ago(*first->history, first->entry->created_ns), call_text(*first->entry),
                                 view.group.name, size_text(*first->entry));
  for (const int rank : absent) text += absent_text(view, rank);
  return text + odd;
}

}  // namespace

/// `version` is odd during a write (a sequence lock).
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
    throw Error(fmt::format("cannot map the ring buffer of collectives: {}", std::strerror(errno)));
  }
  shared_.reset(static_cast<Shared*>(memory));
}

CollectiveRing CollectiveRing::create() {
  Descriptor file(::memfd_create("headroom-collectives", MFD_CLOEXEC));
  if (!file.is_open() || ::ftruncate(file.get(), sizeof(Shared)) != 0) {
    throw Error(fmt::format("cannot allocate the ring buffer of collectives: {}", std::strerror(errno)));
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
    throw Error(fmt::format(
        "{}={} is not a ring buffer of collectives: only the program that starts the ranks sets it",
        kVariable, quote(text)));
  }
  ::fcntl(static_cast<int>(*number), F_SETFD, FD_CLOEXEC);
  CollectiveRing ring{Descriptor(static_cast<int>(*number))};
  ::unsetenv(kVariable);
  if (ring.shared_->layout != kLayout) {
    throw Error(
        fmt::format("the ring buffer of collectives in {} is from another version of headroom", kVariable));
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
    // A rank killed during a write leaves an odd version.
    const bool is_whole = before % 2 == 0 && before == slot.version.load(std::memory_order_relaxed);
    if (!is_whole || fields.call != call || std::cmp_greater_equal(fields.group, groups)) continue;
    history.calls.push_back({fields.group, fields.sequence, text_of(fields.op), text_of(fields.dtype),
                             fields.elements_in, fields.elements_out, fields.created_ns, fields.started_ns,
                             fields.completed_ns, fields.state});
  }
  return history;
}

std::string waiting_text(const RankHistories& histories) {
  std::vector<std::string> sentences;
  for (const GroupView& view : views_of(histories)) {
    if (const auto sequence = view.newest_under_way())
      sentences.push_back(unfinished_call_text(view, *sequence));
  }
  std::erase(sentences, "");
  return join(sentences, "; ");
}

std::string collectives_text(const RankHistories& histories, std::size_t count) {
  Table table(Columns()
                  .right({"rank"})
                  .left({"group"})
                  .right({"sequence"})
                  .left({"collective", "elements", "state"})
                  .right({"created ago", "started ago", "completed ago"}));
  for (const auto& [rank, history] : histories) {
    const std::size_t calls = history.calls.size();
    for (std::size_t i = calls > count ? calls - count : 0; i < calls; ++i) {
      const CollectiveEntry& entry = history.calls[i];
      table.row({std::to_string(rank), history.groups[static_cast<std::size_t>(entry.group)].name,
                 std::to_string(entry.sequence), entry.op, size_text(entry),
                 collective_state_name(entry.state), ago(history, entry.created_ns),
                 ago(history, entry.started_ns), ago(history, entry.completed_ns)});
    }
  }
  return table.size() == 0 ? "" : table.text();
}

Json to_json(const CollectiveHistory& history) {
  Json groups = Json::array(), calls = Json::array();
  for (const CollectiveGroup& group : history.groups) {
    groups.push_back({{"name", group.name}, {"ranks", group.ranks}, {"size", group.size}});
  }
  for (const CollectiveEntry& entry : history.calls) {
    calls.push_back({entry.group, entry.sequence, entry.op, entry.dtype, entry.elements_in,
                     entry.elements_out, entry.created_ns, entry.started_ns, entry.completed_ns,
                     static_cast<int>(entry.state)});
  }
  return {{"now_ns", history.now_ns}, {"groups", std::move(groups)}, {"calls", std::move(calls)}};
}

CollectiveHistory collective_history_from_json(const Json& json) {
  try {
    CollectiveHistory history;
    history.now_ns = json.at("now_ns").get<std::int64_t>();
    for (const Json& group : json.at("groups")) {
      history.groups.push_back({group.at("name").get<std::string>(),
                                group.at("ranks").get<std::vector<int>>(), group.at("size").get<int>()});
    }
    for (const Json& call : json.at("calls")) {
      const auto group = call.at(0).get<std::size_t>();
      const auto state = call.at(9).get<int>();
      if (group >= history.groups.size() || state < 0 || state > 3)
        throw Error("a collective without a group");
      history.calls.push_back({static_cast<int>(group), call.at(1).get<std::uint64_t>(),
                               call.at(2).get<std::string>(), call.at(3).get<std::string>(),
                               call.at(4).get<std::int64_t>(), call.at(5).get<std::int64_t>(),
                               call.at(6).get<std::int64_t>(), call.at(7).get<std::int64_t>(),
                               call.at(8).get<std::int64_t>(), static_cast<CollectiveState>(state)});
    }
    return history;
  } catch (const JsonError& error) {
    throw Error(fmt::format("the collectives of a rank: {}", error.what()));
  }
}

}  // namespace headroom
