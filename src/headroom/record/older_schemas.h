// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/json_codec.h"
#include "headroom/record/record.h"

namespace headroom::record_json {

// Facts that schemas before 4 wrote as texts.

/// Returns the note that sentence() wrote; a NoteKind::kText if it is not recognised.
Note note_of_sentence(const std::string& sentence);

/// Sets the members that schemas before 4, and rows of the OSS database, tell by names or as texts in
/// extra_info. Texts of metric.extra_info that have become members are removed; those that do not parse stay.
/// `notes`: the sentences.
void complete_old_record(Record& record, const std::vector<std::string>& notes);

/// Moves texts of metric.extra_info that were numbers before Metric::numbers, of `ddp` and `cache`, there.
void take_numbers_from_texts(Record& record);

/// Sets Environment::options and the cache sizes from the command and texts. Throws Error, with the path, if
/// a stored run does not parse.
void complete_old_environment(Environment& environment, const JsonPath& path);

/// Sets the options that the first files of schema 4 lack, from the command and texts.
void complete_early_options(Environment& environment);

/// Returns the instrument that a record of another format is of: by its names, as nothing else tells it.
Instrument instrument_by_names(const Record& record);

/// Returns members of a record as the texts that complete_old_record() reads, for formats without a place for
/// them.
StringMap texts_of_members(const Record& record);

/// Parses a limit name as limit_name() and the older schemas wrote it: "read 32 MiB linear, 2 threads". Sizes
/// are as precise as the text. Empty if it is not a limit name.
std::vector<LimitPart> limit_parts_of_name(std::string_view name);

}  // namespace headroom::record_json
