// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "headroom/trace/readers/formats/perfetto_sequence.h"

namespace headroom::trace::readers {

/// The name of a DebugAnnotation; "" where its sequence has none for its number.
std::string_view annotation_name(std::string_view annotation, const PerfettoSequence& sequence);

/// The value of one as JSON, lists and dictionaries with all that is in them; "" for none.
std::string annotation_json(std::string_view annotation, const PerfettoSequence& sequence);

/// The value of one that is a text, as it stands; "" for others.
std::string_view annotation_text(std::string_view annotation, const PerfettoSequence& sequence);

}  // namespace headroom::trace::readers
