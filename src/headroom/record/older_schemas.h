// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/json_codec.h"
#include "headroom/record/record.h"

namespace headroom::record_json {

/// Inverse of sentence(); NoteKind::kText if not recognised.
Note note_of_sentence(const std::string& sentence);

/// Sets members that schemas before 4 and OSS rows encode as names or texts in extra_info; removes valid
/// texts.
void complete_old_record(Record& record, const std::vector<std::string>& notes);

/// Moves texts of `ddp` and `cache` to Metric::numbers.
void take_numbers_from_texts(Record& record);

/// Sets Environment::options and cache sizes from the command and texts. Throws Error with the path.
void complete_old_environment(Environment& environment, const JsonPath& path);

/// Sets options that the first files of schema 4 lack.
void complete_early_options(Environment& environment);

Instrument instrument_by_names(const Record& record);

/// Inverse of complete_old_record(), for formats without such members.
StringMap texts_of_members(const Record& record);

/// Parses "read 32 MiB linear, 2 threads" of older schemas; empty if invalid.
std::vector<LimitPart> limit_parts_of_name(std::string_view name);

}  // namespace headroom::record_json
