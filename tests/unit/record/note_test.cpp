// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record.h"

#include <gmock/gmock.h>

#include "../error_message.h"
#include "headroom/base/json.h"
#include "headroom/record/older_schemas.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

using record_json::note_of_sentence;
using test::message_of;
using testing::HasSubstr;

/// One of each kind, with numbers that its sentence keeps exactly.
const Notes& every_note() {
  static const Notes kNotes{
      "A CPU time: there is no GPU time.",
      {NoteKind::kSteal, {40, 400}},
      {NoteKind::kPreempted, {39, 41}},
      {NoteKind::kPageFaults, {40, 40}},
      {NoteKind::kCpuClock, {2000, 3000}},
      {NoteKind::kDeviceClock, {1200, 1980}},
      {NoteKind::kDeviceMemoryClock, {1200, 1980}},
      {NoteKind::kThrottled, {2, 40}, "power cap in 2, hardware slowdown in 1"},
      {NoteKind::kPlacement, {50, 150}},
      {NoteKind::kWarmUp, {3}},
      {NoteKind::kProcessesDiffer},
      {NoteKind::kLimitUnstable},
      {NoteKind::kAboveLimit, {1.16}},
      {NoteKind::kAboveUnstableLimit, {1.16}},
      {NoteKind::kOtherPages, {0, 0.98}, "read 32 MiB linear, 2 threads"},
      {NoteKind::kTimeCap},
      {NoteKind::kExactRounds},
      {NoteKind::kBusy, {1.5, 2}, "before measuring, 0.5 of them taken by the hypervisor"},
      {NoteKind::kQuota, {0.5, 2}},
      {NoteKind::kFailedRuns, {2, 40, 3}},
      {NoteKind::kFailedRuns, {2, 40, -9}}};
  return kNotes;
}

TEST(Note, EveryKindComesBackFromJson) {
  for (const Note& note : every_note()) {
    const Json json = json_of(note);
    EXPECT_EQ(json_to<Note>(json, JsonPath("")), note) << dump_json(json);
  }
  EXPECT_EQ(dump_json(json_of(every_note()[1])), R"({"kind":"steal","stolen_ms":40.0,"total_ms":400.0})");
}

TEST(Note, EveryKindIsRecognisedInTheSentencesOfOlderFiles) {
  for (const Note& note : every_note()) EXPECT_EQ(note_of_sentence(sentence(note)), note) << sentence(note);
}

TEST(Note, AnUnknownSentenceStaysAsItIs) {
  for (const char* text :
       {"", "steal", "steal time in 2 of 3 samples", "busy: very", "failed: 2 of 40 runs",
        "warm-up: 3 leading samples were not counted", "above its limit (unknown): ", "pages: 1 of 2"}) {
    EXPECT_EQ(note_of_sentence(text), Note(text));
    EXPECT_EQ(sentence(note_of_sentence(text)), text);
  }
}

TEST(Note, DamagedValuesAreRefusedWithTheirPlace) {
  const auto refusal = [](const Json& json) {
    return message_of([&] { json_to<Note>(json, JsonPath("note")); });
  };
  EXPECT_THAT(refusal(5), HasSubstr("note"));
  EXPECT_THAT(refusal({{"kind", "gossip"}}), HasSubstr("note/kind: expected one of"));
  EXPECT_THAT(refusal({{"kind", "steal"}, {"stolen_ms", 4}}), HasSubstr("total_ms"));
  EXPECT_THAT(refusal({{"kind", "steal"}, {"stolen_ms", "4"}, {"total_ms", 5}}), HasSubstr("stolen_ms"));
}

}  // namespace
}  // namespace headroom
