// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/trace/readers/json_text.h"

namespace headroom::trace::readers {

/// A value in a message: enough of it to be found again.
std::string shown(Raw value);

/// The phases of the format: with a duration, instants, counters, flows, asynchronous events, objects, marks,
/// memory dumps, contexts, clocks, metadata.
bool is_known_phase(char phase);

// What is amiss with an event, for Problem::what.
std::string no_phase(Raw phase);     ///< none, or one that the format does not have
std::string long_phase(Raw phase);   ///< of more than one letter
std::string no_time(Raw ts);         ///< none, no number, or one out of range
std::string no_duration(Raw value);  ///< no number, a negative one, or one out of range

}  // namespace headroom::trace::readers
