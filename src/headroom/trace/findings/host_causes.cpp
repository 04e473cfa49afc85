// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "headroom/base/units.h"
#include "headroom/trace/findings/finding_search.h"
#include "headroom/trace/tables/duration_stats.h"

// Causes in what the host does itself while a device has nothing to do.

namespace headroom::trace {
namespace {

/// Gaps up to this are between two launches; longer ones are a wait for something else that the host does.
constexpr std::int64_t kShortGapNs = 100'000;

/// A cause that is one thing that the host does: its times in the gaps of the devices are gone.
void try_doing(FindingSearch& search, HostDoing doing, Suspicion suspicion, const char* what) {
  suspicion.time = search.idle_while(doing);
  if (suspicion.time.empty()) return;
  suspicion.what_if.host_gone = suspicion.time;
  suspicion.event = search.longest_event(doing);
  std::int64_t longest = 0;
  for (const Span& span : suspicion.time) longest = std::max(longest, span.end - span.start);
  suspicion.evidence = fmt::format("{}the host is {} for {}; the longest time is {}",
                                   search.devices().empty() ? "" : "while the devices have nothing to do, ",
                                   what, search.per_step(static_cast<double>(length(suspicion.time))),
                                   format_time_ns(static_cast<double>(longest)));
  search.take(std::move(suspicion));
}

/// What the host does in gaps that are not its calls of the device: by where it belongs.
struct Site {
  std::uint32_t event = kNone;  ///< of the longest part
  std::int64_t longest_ns = 0, total_ns = 0;
  std::vector<Span> times;
};

std::string name_of(const FindingSearch& search, std::uint32_t event) {
  return event == kNone ? std::string()
                        : std::string(search.trace().names[search.trace().events.name[event]]);
}

bool is_other_work(HostDoing doing) {
  return doing == HostDoing::kOperator || doing == HostDoing::kProgram || doing == HostDoing::kNotRecorded ||
         doing == HostDoing::kLaunch;
}

/// The longest in total first; what nobody recorded has no event.
std::vector<Site> sites_of_long_gaps(const FindingSearch& search) {
  std::map<std::string, Site> sites;
  const IdleCulprits& culprits = search.culprits();
  for (const IdlePart& part : culprits.parts) {
    const DeviceGap& gap = culprits.gaps[part.gap];
    if (gap.host_until_ns - gap.time.start < kShortGapNs || !is_other_work(part.doing)) continue;
    if (part.time.start >= gap.host_until_ns) continue;
    const std::uint32_t at = site_of(search.trace(), search.parent(), part.event);
    Site& site = sites[name_of(search, at)];
    site.times.push_back(part.time);
    site.total_ns = saturating_add(site.total_ns, part.length_ns());
    if (part.length_ns() > site.longest_ns) {
      site.longest_ns = part.length_ns();
      site.event = part.event;
    }
  }
  std::vector<Site> sorted;
  for (auto& [name, site] : sites) sorted.push_back(std::move(site));
  std::ranges::stable_sort(sorted, std::greater{}, &Site::total_ns);
  return sorted;
}

std::string where_text(const FindingSearch& search, const Site& site) {
  const std::string where = search.where(site.event);
  return fmt::format("{} in {}", search.per_step(static_cast<double>(site.total_ns)),
                     where.empty() ? "what is not in the file" : where);
}

/// What the host does in `site` is gone, which `what` says; `event_ns` of it where its event is.
Suspicion host_suspicion(const FindingSearch& search, const Site& site, std::int64_t event_ns,
                         const std::string& what) {
  Suspicion suspicion;
  suspicion.kind = FindingKind::kHostBound;
  suspicion.least_gain = 0.02;
  suspicion.event = site.event;
  suspicion.event_ns = site.event == kNone ? 0 : event_ns;
  suspicion.place = name_of(search, site_of(search.trace(), search.parent(), site.event));
  suspicion.time = merged(site.times);
  suspicion.what_if.host_gone = suspicion.time;
  suspicion.evidence =
      "the devices have nothing to do while the host does other things than to launch: " + what;
  suspicion.more = ", " + what;
  suspicion.fix =
      site.event == kNone
          ? "record with_stack=True to see which Python it is; move it out of the step or to another thread"
          : "move it out of the step, to another thread, or to the device";
  return suspicion;
}

}  // namespace

void find_data_loading(FindingSearch& search) {
  Suspicion suspicion;
  suspicion.kind = FindingKind::kDataLoading;
  suspicion.least_gain = 0.03;
  suspicion.fix =
      "load ahead: more workers (num_workers), prefetch_factor, persistent_workers; make the input cheaper "
      "or prepare it "
      "once";
  try_doing(search, HostDoing::kDataLoading, std::move(suspicion), "waiting for its input");
}

void find_recompilation(FindingSearch& search) {
  Suspicion suspicion;
  suspicion.kind = FindingKind::kRecompilation;
  suspicion.fix =
      "warm up before measuring; keep shapes and arguments the same or mark them dynamic "
      "(TORCH_LOGS=recompiles says "
      "why)";
  try_doing(search, HostDoing::kCompilation, std::move(suspicion), "compiling (torch.compile)");
}

void find_garbage_collection(FindingSearch& search) {
  Suspicion suspicion;
  suspicion.kind = FindingKind::kGarbageCollection;
  suspicion.fix = "gc.freeze() after the start, gc.disable() in the loop and gc.collect() between epochs";
  try_doing(search, HostDoing::kCollector, std::move(suspicion), "collecting garbage");
}

void find_long_host_work(FindingSearch& search) {
  constexpr std::int64_t kLongNs = 500'000;
  constexpr std::size_t kMostSites = 3;
  std::vector<Site> sites = sites_of_long_gaps(search);
  std::erase_if(sites, [](const Site& site) { return site.event == kNone || site.longest_ns < kLongNs; });
  if (sites.size() > kMostSites) sites.resize(kMostSites);
  for (const Site& site : sites)
    search.take(host_suspicion(search, site, site.total_ns, where_text(search, site)));
}

void find_host_bound(FindingSearch& search) {
  constexpr std::size_t kMostNamed = 3;
  Site all;
  std::size_t places = 0;
  std::string named;
  for (Site& site : sites_of_long_gaps(search)) {
    if (search.has_found(FindingKind::kHostBound,
                         name_of(search, site_of(search.trace(), search.parent(), site.event))))
      continue;
    if (places == 0) {
      all.event = site.event;
      all.longest_ns = site.total_ns;
    }
    if (++places <= kMostNamed) named += (named.empty() ? "" : ", ") + where_text(search, site);
    all.total_ns = saturating_add(all.total_ns, site.total_ns);
    std::ranges::move(site.times, std::back_inserter(all.times));
  }
  if (all.total_ns <= 0) return;
  const std::string time = search.per_step(static_cast<double>(all.total_ns));
  search.take(host_suspicion(search, all, all.longest_ns,
                             places > 1 ? fmt::format("{} in {} other places ({}{})", time, places, named,
                                                      places > kMostNamed ? ", ..." : "")
                                        : named));
}

void find_launch_bound(FindingSearch& search) {
  Suspicion suspicion;
  suspicion.kind = FindingKind::kLaunchBound;
  suspicion.least_gain = 0.02;
  suspicion.what_if.launched_ahead.assign(search.trace().gpu.size(), false);
  std::vector<Span> host, idle;
  // After a wait the host is late because it waited.
  const IdleCulprits& culprits = search.culprits();
  std::vector<bool> follows_wait(culprits.gaps.size());
  for (const IdlePart& part : culprits.parts) {
    if (part.doing == HostDoing::kSynchronisation) follows_wait[part.gap] = true;
  }
  for (std::size_t i = 0; i < culprits.gaps.size(); ++i) {
    const DeviceGap& gap = culprits.gaps[i];
    const std::int64_t late_ns = gap.host_until_ns - gap.time.start;
    if (late_ns <= 0 || late_ns >= kShortGapNs || gap.next == kNone || follows_wait[i]) continue;
    suspicion.what_if.launched_ahead[gap.next] = true;
    host.push_back({gap.time.start, gap.host_until_ns});
    idle.push_back(gap.time);
    if (suspicion.event == kNone) suspicion.event = gap.call;
  }
  if (idle.empty()) return;
  suspicion.what_if.host_gone = merged(std::move(host));
  suspicion.evidence = fmt::format(
      "{} times the device had done all that was launched before the next launch came", idle.size());
  suspicion.more = "; " + suspicion.evidence;
  suspicion.time = merged(std::move(idle));
  suspicion.fix =
      "launch less often: torch.compile (mode=\"reduce-overhead\") or CUDA graphs, fused or foreach "
      "optimizers, larger "
      "batches";
  search.take(std::move(suspicion));
}

}  // namespace headroom::trace
