// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/trace/timeline/job_timeline.h"

namespace headroom::trace {

/// The timeline as JSON on one line, made to be short: columns of numbers, no object for a slice.
///
///     {"start_ns":…,"length_ns":…,"kinds":["compute",…],"names":["aten::mm",…],"name_kinds":[3,…],"ranks":[
///       {"rank":0,"file":"…","offset_ns":…,"shortest_ns":…,"events":…,"slices":…,"tracks_left_out":…,
///        "events_left_out":…,
///        "tracks":[{"kind":"stream","name":"stream 7","device":0,"events":…,"busy_ns":…,"lanes":[
///          [[gaps],[durations],[names],[blocks],[counts],[busy]]]}],
///        "counters":[{"kind":"queue","name":"stream 7","device":0,"start_ns":…,"bucket_ns":…,
///          "at":[…],"least":[…],"most":[…],"last":[…]}],
///        "flames":[{"by":"stack","names":["…"],"parent":[…],"name":[…],"kind":[…],"host":[…],"device":[…],
///          "calls":[…],"elsewhere":…,"left_out":…},{"by":"module",…}]}]}
///
/// Times are ns after start_ns, on the clock that the ranks share. A gap is the time from the end of the
/// slice before (of the first: from 0) to the start; below 0 only in the lane of everything too deep. Names
/// are indices of "names". Blocks are the slices that stand for several events, each as the distance from the
/// one before, and counts and busy are theirs. `at` is by distances, too; `most` is that beyond `least`.
/// Flames are those with nodes; parents are indices of nodes before, or -1.
std::string timeline_json(const JobTimeline& job);

}  // namespace headroom::trace
