// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/categories.h"

#include <array>

namespace headroom::trace::readers {
namespace {

struct Spelling {
  std::string_view text;
  Category category;
};

// By how often they occur in files.
constexpr std::array kSpellings{
    Spelling{"cpu_op", Category::kCpuOp},
    Spelling{"python_function", Category::kPython},
    Spelling{"cuda_runtime", Category::kRuntime},
    Spelling{"kernel", Category::kKernel},
    Spelling{"gpu_memcpy", Category::kGpuMemcpy},
    Spelling{"user_annotation", Category::kUserAnnotation},
    Spelling{"gpu_memset", Category::kGpuMemset},
    Spelling{"cuda_driver", Category::kDriver},
    Spelling{"gpu_user_annotation", Category::kGpuAnnotation},
    Spelling{"cuda_sync", Category::kGpuSync},
    Spelling{"overhead", Category::kOverhead},
    Spelling{"hip_runtime", Category::kRuntime},
    Spelling{"hip_sync", Category::kGpuSync},
    Spelling{"Operator", Category::kCpuOp},
    Spelling{"Runtime", Category::kRuntime},
    Spelling{"Kernel", Category::kKernel},
    Spelling{"Memcpy", Category::kGpuMemcpy},
    Spelling{"Memset", Category::kGpuMemset},
    Spelling{"mtia_ccp_events", Category::kKernel},
    Spelling{"mtia_runtime", Category::kRuntime},
    Spelling{"xpu_runtime", Category::kRuntime},
    Spelling{"xpu_driver", Category::kDriver},
    Spelling{"privateuse1_runtime", Category::kRuntime},
    Spelling{"privateuse1_driver", Category::kDriver},
};

}  // namespace

Category category_of(std::string_view text) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.text == text) return spelling.category;
  }
  return Category::kOther;
}

Needs need_of(Category category) {
  switch (category) {
    case Category::kKernel:
    case Category::kGpuMemcpy:
    case Category::kGpuMemset:
    case Category::kUserAnnotation:
      return Needs::kGpuWork;
    case Category::kRuntime:
    case Category::kDriver:
      return Needs::kLaunches;
    case Category::kCpuOp:
      return Needs::kOpEvents;
    case Category::kPython:
      return Needs::kPython;
    case Category::kGpuSync:
      return Needs::kSyncs;
    case Category::kGpuAnnotation:
    case Category::kOverhead:
    case Category::kOther:
      break;
  }
  return Needs::kOthers;
}

}  // namespace headroom::trace::readers
