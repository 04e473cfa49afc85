// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>
#include <functional>
#include <string>

#include "headroom/trace/recording/device_activity.h"

namespace headroom::cuda {

/// The kinds of records that are asked for, and that add_record() knows.
inline constexpr CUpti_ActivityKind kRecordedKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER};

/// The name of a function of CUDA's runtime or driver by its number; empty where it is not known.
using CallName = std::function<std::string(CUpti_CallbackDomain domain, std::uint32_t function)>;

/// Copies a record of CUPTI to `activity`, with its times as they are: on CUPTI's clock. What has no times,
/// because CUPTI could not take them, counts as dropped. Records of other kinds are left alone.
void add_record(const CUpti_Activity& record, const CallName& name_of, trace::DeviceActivity& activity);

/// "cudaLaunchKernel" of "cudaLaunchKernel_ptsz_v7000": without the version in which a function of the
/// runtime got its number, and its variant for a default stream of each thread. "cuMemAlloc_v2" stays: of the
/// driver it is the name.
std::string call_name(const std::string& name);

/// "scale(float*)" of "_Z5scalePf"; what is no mangled name stays.
std::string kernel_name(const char* name);

}  // namespace headroom::cuda
