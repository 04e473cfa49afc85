// SPDX-License-Identifier: Apache-2.0
// The process of one rank. Requests arrive over the inherited channel.

#include <fmt/format.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/machine/perf_event.h"
#include "headroom/process/affinity.h"
#include "headroom/process/channel.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/runner/serve.h"
#include "headroom_torch/nccl/nccl_device.h"
#include "headroom_torch/ranks/rank_experiments.h"
#include "headroom_torch/tensors/libtorch.h"

namespace headroom::torch_runner {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

RankHello hello_of(const RankPlace& place) {
  RankHello hello;
  hello.rank = place.rank;
  hello.size = place.size;
  hello.pid = ::getpid();
  hello.library = {"libtorch", kTorchVersion};
  hello.no_counters = InstructionCounter().absence();
  hello.arguments = environment_variable(kRankArgumentsVariable).value_or("");
  hello.host = host_name();
  hello.cores = cores_of(cpus_of_rank(place, allowed_cpus(), 1));
  hello.blas = torch_blas();
  hello.ids = true;
  return hello;
}

dtensor::WorldPtr connect(const RankPlace& place, double timeout_s) {
  dtensor::WorldOptions options;
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1e3));
  options.rank = place.rank;
  options.size = place.size;
  options.local_rank = place.local_rank;
  if (place.meeting) {
    options.address = place.meeting->address;
    options.port = place.meeting->port;
  }
  // The parent reads the ring when this process cannot.
  options.ring = std::make_shared<CollectiveRing>(CollectiveRing::inherited());
  return dtensor::World::connect(options);
}

class RankService {
 public:
  explicit RankService(const RankPlace& place) : context_(place) {
    registry_.describe_blas_with(torch_blas);
    add_collectives(registry_, context_);
    add_dispatch(registry_, context_);
    add_ddp(registry_, context_);
    registry_.trace_with([this](const std::string& folder, const std::function<void()>& run) {
      // On failure too: the next calls are samples.
      const struct Recording {
        std::string& folder;
        ~Recording() { folder.clear(); }
      } recording{context_.trace = folder};
      run();
    });
  }

  Json answer(const Json& request) {
    const std::string what = json_string(request, "do", "request");
    if (what == "meet") {
      context_.world = connect(context_.place, json_number(request, "timeout_s", "request"));
      return {{"met", context_.place.size}};
    }
    if (!context_.world) throw Error("the ranks are not connected");
    if (what == "backend") return has_backend(json_string(request, "backend", "request"));
    return server_.answer(request);
  }

 private:
  Json has_backend(const std::string& backend) const {
    if (backend == "nccl") dtensor::nccl_device(context_.place.local_rank);
    if (backend != "nccl" && backend != "gloo")
      throw Error("unknown backend " + quote(backend) + ": expected gloo or nccl");
    return {{"backend", backend}};
  }

  RankContext context_;
  Registry registry_;
  RegistryServer server_{registry_};
};

}  // namespace

/// Greets and answers requests (headroom/ranks/rank_group.h, headroom/runner/protocol.h) until the channel
/// closes.
void serve_rank(Channel channel, const RankPlace& place) {
  RankService service(place);
  if (!channel.write_line(dump_json(to_json(hello_of(place))))) return;
  std::string line;
  while (channel.read_line(line, std::chrono::milliseconds(-1)) == Channel::Status::kLine) {
    Json request, reply;
    try {
      request = parse_json(line, "request");
      reply = service.answer(request);
    } catch (const std::exception& error) {
      reply = {{"error", failure_text(error)}};
    }
    if (request.is_object() && request.contains("id")) reply["id"] = request["id"];
    if (!channel.write_line(dump_json(reply))) return;
  }
}

}  // namespace headroom::torch_runner

namespace {

/// Allocators of training programs do so: glibc would unmap blocks above 128 KiB and heaps of arenas, and
/// each iteration fault its gradients' pages in again. One arena, because every case has a thread.
void keep_freed_memory() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
}

}  // namespace

int main(int, char** argv) {
  keep_freed_memory();
  // A rank may hang in a collective.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    auto channel = headroom::inherited_channel();
    const auto place = headroom::rank_place();
    if (!channel || !place) {
      throw headroom::Error(
          "this program is started by `headroom dispatch` and `headroom ddp`; see headroom ddp --help");
    }
    headroom::torch_runner::serve_rank(std::move(*channel), *place);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return static_cast<int>(headroom::ExitCode::kError);
  }
}
