// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/counter_kernel.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "headroom/base/text.h"

namespace headroom {
namespace {

class LinuxCounters final : public CounterKernel {
 public:
  int open(const CounterRequest& request) override {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = request.type;
    attributes.config = request.config[0];
    attributes.config1 = request.config[1];
    attributes.config2 = request.config[2];
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    // Those that are led follow. Were they disabled too, threads that start later would inherit them so, and
    // count nothing.
    const bool leads = request.leader < 0;
    attributes.disabled = leads ? 1 : 0;
    // Units of the whole chip refuse what only a thread can have.
    const bool of_thread = request.cpu < 0;
    attributes.inherit = of_thread ? 1 : 0;
    attributes.exclude_kernel = of_thread && request.user_space ? 1 : 0;
    attributes.exclude_hv = of_thread ? 1 : 0;
    const long file = ::syscall(SYS_perf_event_open, &attributes, of_thread ? request.thread : -1,
                                request.cpu, request.leader, PERF_FLAG_FD_CLOEXEC);
    return file < 0 ? -errno : static_cast<int>(file);
  }
  void start(int counter) override { ::ioctl(counter, PERF_EVENT_IOC_ENABLE, 0); }
  void stop(int counter) override { ::ioctl(counter, PERF_EVENT_IOC_DISABLE, 0); }
  std::optional<CounterReading> read(int counter) override {
    CounterReading reading;
    static_assert(sizeof reading == 3 * sizeof(std::uint64_t), "as read_format has the kernel write it");
    if (::read(counter, &reading, sizeof reading) != sizeof reading) return std::nullopt;
    return reading;
  }
  void close(int counter) override { ::close(counter); }
  std::vector<int> threads() override {
    std::vector<int> numbers;
    std::error_code error;
    for (std::filesystem::directory_iterator entry("/proc/self/task", error), end; !error && entry != end;
         entry.increment(error)) {
      if (const auto number = to_integer(entry->path().filename().native()))
        numbers.push_back(static_cast<int>(*number));
    }
    return numbers;
  }
};

}  // namespace

CounterKernel& linux_counters() {
  static LinuxCounters kernel;  // without state
  return kernel;
}

}  // namespace headroom
