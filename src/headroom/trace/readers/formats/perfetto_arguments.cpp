// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/formats/perfetto_arguments.h"

#include <algorithm>
#include <array>

#include "headroom/base/text.h"
#include "headroom/trace/readers/categories.h"
#include "headroom/trace/readers/formats/perfetto_values.h"
#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/wire.h"

namespace headroom::trace::readers {
namespace {

// TrackEvent.
constexpr std::uint32_t kDeltaUs = 1, kCategoryNumbers = 3, kAnnotations = 4, kLegacy = 6, kType = 9,
                        kNameNumber = 10, kTrack = 11, kAbsoluteUs = 16, kCategories = 22, kName = 23;
// LegacyEvent.
constexpr std::uint32_t kLegacyName = 1, kPhase = 2, kDurationUs = 3;

std::string_view text_of(const PerfettoSequence::Texts& texts, std::uint64_t number) {
  const auto found = texts.find(number);
  return found == texts.end() ? std::string_view{} : std::string_view(found->second);
}

struct Renaming {
  std::string_view from, to;
};

/// rocprofv3's names, as Kineto has them.
constexpr std::array kRenamings{Renaming{"corr_id", "correlation"}, Renaming{"copy_bytes", "bytes"}};

std::string_view renamed(std::string_view key) {
  const auto* const found = std::ranges::find(kRenamings, key, &Renaming::from);
  return found == kRenamings.end() ? key : found->to;
}

struct CategoryName {
  std::string_view text;
  Category category;
};

constexpr std::array kRocprofCategories{
    CategoryName{"kernel_dispatch", Category::kKernel},   CategoryName{"memory_copy", Category::kGpuMemcpy},
    CategoryName{"hip_api", Category::kRuntime},          CategoryName{"hip_runtime_api", Category::kRuntime},
    CategoryName{"hip_compiler_api", Category::kRuntime}, CategoryName{"hsa_api", Category::kDriver},
    CategoryName{"marker_api", Category::kUserAnnotation}};

/// As kineto numbers it: the allocator's instant.
constexpr std::string_view kMemory = "[memory]";

}  // namespace

void PerfettoEvent::read(std::string_view bytes, const PerfettoSequence& sequence) {
  type = kUnknown;
  track = sequence.default_track;
  name = category_text = {};
  duration_ns = 0;
  delta_us = absolute_us = std::nullopt;
  arguments.clear();
  texts_.clear();
  metadata_ = {};
  const auto take_category = [&](std::string_view text) {
    // Of several the one that is known counts.
    if (category_text.empty() || category_of(text) != Category::kOther) category_text = text;
  };
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kType)) type = static_cast<Type>(std::min<std::uint64_t>(field.value, kCounter));
    if (field.is_varint(kTrack)) track = field.value;
    if (field.is_varint(kNameNumber)) name = text_of(sequence.names, field.value);
    if (field.is_bytes(kName)) name = field.bytes;
    if (field.is_varint(kCategoryNumbers)) take_category(text_of(sequence.categories, field.value));
    if (field.is_bytes(kCategories)) take_category(field.bytes);
    if (field.is_varint(kDeltaUs)) delta_us = std::clamp<std::int64_t>(field.whole(), -kMostNs, kMostNs);
    if (field.is_varint(kAbsoluteUs)) absolute_us = field.whole();
    if (field.is_bytes(kLegacy)) read_legacy(field.bytes, sequence);
    if (field.is_bytes(kAnnotations)) read_annotation(field.bytes, sequence);
  }
  is_whole = message.is_whole();
}

void PerfettoEvent::read_annotation(std::string_view bytes, const PerfettoSequence& sequence) {
  std::string_view key = annotation_name(bytes, sequence);
  constexpr std::string_view kPrefix = "debug.";
  if (key.starts_with(kPrefix)) key.remove_prefix(kPrefix.size());
  if (key.empty()) return;
  const std::string_view text = annotation_text(bytes, sequence);
  if (!text.empty()) texts_.emplace_back(key, text);
  if (key == "metadata" && !text.empty()) {
    metadata_ = text;
  } else if (const std::string json = annotation_json(bytes, sequence); !json.empty()) {
    arguments.add_json(renamed(key), json);
  }
}

/// An event of a Chrome trace that was put into a packet: its letter is the type.
void PerfettoEvent::read_legacy(std::string_view bytes, const PerfettoSequence& sequence) {
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kLegacyName)) name = text_of(sequence.names, field.value);
    if (field.is_varint(kDurationUs)) {
      duration_ns = static_cast<std::int64_t>(
                        std::min<std::uint64_t>(field.value, static_cast<std::uint64_t>(kMostNs) / 1000)) *
                    1000;
    }
    if (!field.is_varint(kPhase)) continue;
    switch (field.value) {
      case 'X':
        type = kComplete;
        break;
      case 'B':
        type = kBegin;
        break;
      case 'E':
        type = kEnd;
        break;
      case 'i':
      case 'I':
        type = kInstant;
        break;
      default:
        type = kUnknown;
    }
  }
}

bool PerfettoEvent::is_memory() const {
  return name == kMemory && has("Addr");
}

/// By its name or the arguments that only operators have. Those without a namespace are of 29 real traces.
bool PerfettoEvent::is_operator() const {
  constexpr std::array<std::string_view, 7> kNames{
      "detach",      "record_param_comms",    "_grad_sum_to_size", "Pregraph bytecode",
      "TorchDynamo", "Torch-Compiled Region", "AOTDispatcher"};
  // An annotation that has what its operators have.
  if (name.starts_with("nccl:")) return false;
  return contains(name, "::") ||
         std::ranges::any_of(kNames, [&](std::string_view known) { return name.starts_with(known); }) ||
         has("Sequence number") || has("Fwd thread id") || has("Input Dims") || has("Input type");
}

Category PerfettoEvent::category(const PerfettoTrack& on) const {
  if (const Category known = category_of(category_text); known != Category::kOther) return known;
  const auto* const rocprof = std::ranges::find(kRocprofCategories, category_text, &CategoryName::text);
  if (rocprof != kRocprofCategories.end()) return rocprof->category;
  if (!category_text.empty()) return Category::kOther;
  if (has("cuda_sync_kind") || has("hip_sync_kind")) return Category::kGpuSync;
  if (has("stream") && has("device")) {
    if (name.starts_with("Memcpy")) return Category::kGpuMemcpy;
    return name.starts_with("Memset") ? Category::kGpuMemset : Category::kKernel;
  }
  if (on.thread_name.starts_with("stream ")) return Category::kGpuAnnotation;
  if (has("cbid") || (has("correlation") && !has("Ev Idx"))) {
    const bool is_driver = name.starts_with("cu") && !name.starts_with("cuda");
    return is_driver ? Category::kDriver : Category::kRuntime;
  }
  if (has("Python id")) return Category::kPython;
  if (is_operator()) return Category::kCpuOp;
  const bool is_recorded =
      has("Ev Idx") || has("Record function id") || has("External id") || has("correlation_id");
  return is_recorded || name.starts_with("nccl:") || name.starts_with("ProfilerStep#")
             ? Category::kUserAnnotation
             : Category::kOther;
}

std::string PerfettoEvent::arguments_of(Category category, const PerfettoTrack& on) const {
  JsonMembers added;
  if (is_gpu_work(category)) {
    if (on.device >= 0 && !has("device")) added.add("device", on.device);
    if (on.stream >= 0 && !has("stream")) added.add("stream", on.stream);
  }
  JsonMembers all;
  // What is no JSON stays a text.
  if (!metadata_.empty() && !all.add_members(metadata_)) all.add("metadata", metadata_);
  std::string text = all.text();
  if (!text.empty() && !arguments.text().empty()) text += ',';
  text += arguments.text();
  // Kineto names an operator by its correlation id, which the work that it launched has as external id.
  const std::string_view key = "\"correlation_id\":";
  const bool is_host = category == Category::kCpuOp || category == Category::kUserAnnotation;
  if (const std::size_t at = text.find(key); is_host && at != text.npos && !has("External id"))
    text.replace(at, key.size(), "\"External id\":");
  if (!text.empty() && !added.text().empty()) text += ',';
  return text + added.text();
}

}  // namespace headroom::trace::readers
