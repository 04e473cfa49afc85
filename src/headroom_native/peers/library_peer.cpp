// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/peers/library_peer.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/experiment/bf16.h"
#include "headroom/experiment/buffer.h"
#include "headroom/process/affinity.h"
#include "headroom/process/thread_state.h"
#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom/workload/oracle.h"
#include "headroom/workload/stored_model.h"
#include "headroom/workload/team.h"
#include "headroom_native/kernels/thread_pool.h"

namespace headroom::native {

namespace {

#if defined(__x86_64__)
constexpr auto kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr auto kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr auto kMachine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr auto kMachine = EM_PPC64;
#else
constexpr auto kMachine = EM_S390;
#endif

std::string machine_name(unsigned machine) {
  constexpr std::pair<unsigned, const char*> kNames[] = {
      {EM_X86_64, "x86_64"}, {EM_386, "32-bit x86"},  {EM_AARCH64, "aarch64"}, {EM_ARM, "32-bit arm"},
      {EM_RISCV, "riscv"},   {EM_PPC64, "powerpc64"}, {EM_S390, "s390"}};
  for (const auto& [number, name] : kNames) {
    if (number == machine) return name;
  }
  return "machine " + std::to_string(machine) + " of ELF";
}

template <typename T>
std::optional<T> at(std::span<const std::byte> file, std::size_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

std::string text_at(std::span<const std::byte> file, std::size_t offset) {
  if (offset >= file.size()) return {};
  const std::string_view rest(reinterpret_cast<const char*>(file.data()) + offset, file.size() - offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

Elf64_Ehdr checked_header(std::span<const std::byte> file, const std::string& path) {
  const auto header = at<Elf64_Ehdr>(file, 0);
  const bool is_elf = file.size() >= EI_NIDENT && std::memcmp(file.data(), ELFMAG, SELFMAG) == 0;
  if (!is_elf) throw Error(quote(path) + " is not a shared library: it has no ELF header");
  if (!header) throw Error(quote(path) + " is truncated within the ELF header");
  constexpr auto kOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  if (header->e_machine != kMachine || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != kOrder) {
    throw Error(quote(path) + " is for " + machine_name(header->e_machine) + ", this program is for " +
                machine_name(kMachine) + ": build the library for the machine that runs it");
  }
  if (header->e_type != ET_DYN)
    throw Error(quote(path) + " is ELF but not a shared library: link it with -shared");
  return *header;
}

/// Reads the ELF file without running its code. Throws Error if it is missing, not ELF, of another
/// architecture, a program or an object file.
std::vector<std::string> exported_functions(const std::string& path) {
  const MappedFile mapped(path);
  const std::span<const std::byte> file = mapped.bytes();
  const Elf64_Ehdr header = checked_header(file, path);
  const auto section = [&](std::size_t index) {
    return at<Elf64_Shdr>(file, header.e_shoff + index * sizeof(Elf64_Shdr)).value_or(Elf64_Shdr{});
  };
  std::vector<std::string> names;
  for (std::size_t index = 0; index < header.e_shnum; ++index) {
    const Elf64_Shdr symbols = section(index);
    if (symbols.sh_type != SHT_DYNSYM) continue;
    const Elf64_Shdr text = section(symbols.sh_link);
    // Untrusted input.
    const std::size_t count = std::min<std::size_t>(symbols.sh_size, file.size()) / sizeof(Elf64_Sym);
    for (std::size_t i = 0; i < count; ++i) {
      const auto symbol = at<Elf64_Sym>(file, symbols.sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol || symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) continue;
      if (std::string name = text_at(file, text.sh_offset + symbol->st_name); !name.empty())
        names.push_back(std::move(name));
    }
  }
  return names;
}

constexpr const char* kForm = "expected PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own]";

bool is_name(const std::string& text) {
  return !text.empty() && text != "all" && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
           c == '-';
  });
}

void take_option(PeerRequest& request, const std::string& option) {
  const std::size_t equals = option.find('=');
  const std::string key = option.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
  if (key == "name") {
    request.name = value;
  } else if (key == "dtype" && (value == "bf16" || value == "int8")) {
    request.dtype = value;
  } else if (option == "threads=own") {
    request.own_threads = true;
  } else {
    throw Error(quote(option) + " is not an option of --peer; " + kForm);
  }
}

/// Loads it in a child process: an initialiser may crash.
void require_loadable(const std::string& path) {
  const pid_t child = ::fork();
  if (child < 0) return;
  if (child == 0) {
    ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ::_exit(0);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) == child && WIFSIGNALED(status)) {
    throw Error(quote(path) + " crashes while loading (" + ::strsignal(WTERMSIG(status)) +
                "): fix its initialisation first");
  }
}

/// Some rows of a kernel with a wrong count.
constexpr std::size_t kZone = 4096;
constexpr std::size_t kLine = 64;
/// Neither zero nor a likely byte of a float.
constexpr std::byte kMark{0xA5};

std::size_t stride_of(std::size_t values) {
  return (values * sizeof(Bf16) + kLine - 1) / kLine * kLine + kZone;
}

/// Outputs between guard zones, which show writes out of range.
class GuardedOutput {
 public:
  GuardedOutput(std::size_t values, std::size_t copies)
      : values_(values), copies_(copies), stride_(stride_of(values)), memory_(bytes_for(values, copies)) {
    std::ranges::fill(memory_.as<std::byte>(), kMark);
  }

  std::span<Bf16> copy(std::size_t index) {
    return {reinterpret_cast<Bf16*>(memory_.data() + kZone + index * stride_), values_};
  }
  /// "writes outside of y: 3 bytes after it, the first 16 bytes after its end", or "".
  std::string damage() const {
    const auto all = memory_.as<std::byte>();
    const std::size_t bytes = values_ * sizeof(Bf16);
    std::string found = changes(all.first(kZone), true);
    for (std::size_t index = 0; found.empty() && index < copies_; ++index)
      found = changes(all.subspan(kZone + index * stride_ + bytes, stride_ - bytes), false);
    return found;
  }

  static std::size_t bytes_for(std::size_t values, std::size_t copies) {
    return kZone + copies * stride_of(values);
  }

 private:
  static std::string changes(std::span<const std::byte> zone, bool is_before) {
    const auto is_changed = [](std::byte byte) { return byte != kMark; };
    const auto count = std::ranges::count_if(zone, is_changed);
    if (count == 0) return {};
    const auto first = static_cast<std::size_t>(std::ranges::find_if(zone, is_changed) - zone.begin());
    if (!is_before)
      return fmt::format("writes outside of y: {} bytes after it, the first {} bytes after its end", count,
                         first);
    return fmt::format("writes outside of y: {} bytes before it, the first {} bytes before its start", count,
                       kZone - first);
  }

  std::size_t values_, copies_, stride_;
  Buffer memory_;
};

struct WholeCall {
  headroom_peer_call call{};
  std::size_t item_bytes = 0;  ///< of a weight
};

WholeCall whole_call(headroom_peer_operation operation, const std::string& dtype, std::size_t rows,
                     std::size_t columns) {
  WholeCall whole;
  whole.call.size = sizeof(headroom_peer_call);
  whole.call.operation = operation;
  whole.call.dtype = dtype == "int8" ? HEADROOM_PEER_INT8 : HEADROOM_PEER_BF16;
  whole.call.rows = rows;
  whole.call.columns = columns;
  whole.call.epsilon = kNormEpsilon;
  whole.item_bytes = item_bytes(dtype);
  return whole;
}

headroom_peer_call share_of(const WholeCall& whole, int worker, int workers) {
  headroom_peer_call call = whole.call;
  const Slice part = slice_of(call.rows, worker, workers);
  call.thread = worker;
  call.threads = workers;
  call.rows = part.size();
  if (call.weights != nullptr) {
    call.weights = static_cast<const std::byte*>(call.weights) + part.begin * call.columns * whole.item_bytes;
  }
  const bool is_norm = call.operation == HEADROOM_PEER_LAYER_NORM;
  if (is_norm) call.x += part.begin * call.columns;
  if (call.y != nullptr) call.y += part.begin * (is_norm ? call.columns : 1);
  return call;
}

/// Calls by input copy and worker. One worker prepares and releases data.
class PeerCalls {
 public:
  PeerCalls(const Peer& peer, ThreadPool& pool, std::vector<std::vector<WholeCall>> of_copies)
      : peer_(peer),
        pool_(pool),
        workers_(peer.request.own_threads ? 1 : pool.workers()),
        shares_(static_cast<std::size_t>(workers_)),
        answers_(static_cast<std::size_t>(workers_)) {
    each_worker([&](int worker) { make_shares(worker, of_copies); });
  }
  ~PeerCalls() {
    if (peer_.release == nullptr) return;
    each_worker([&](int worker) {
      for (const auto& of_copy : shares_[static_cast<std::size_t>(worker)]) {
        for (const headroom_peer_call& call : of_copy) {
          if (call.prepared != nullptr) peer_.release(call.prepared);
        }
      }
    });
  }
  PeerCalls(const PeerCalls&) = delete;
  PeerCalls& operator=(const PeerCalls&) = delete;

  bool is_prepared() const {
    return std::ranges::all_of(answers_, [](const Answer& answer) { return answer.code == 0; });
  }

  int run(std::size_t copy) {
    each_worker([&](int worker) {
      const auto own = static_cast<std::size_t>(worker);
      for (const headroom_peer_call& call : shares_[own][copy]) {
        if (call.rows == 0) continue;
        if (const int answer = peer_.call(&call); answer != 0) answers_[own].code = answer;
      }
    });
    const auto failed = std::ranges::find_if(answers_, [](const Answer& answer) { return answer.code != 0; });
    return failed == answers_.end() ? 0 : failed->code;
  }

 private:
  struct alignas(64) Answer {
    int code = 0;
  };

  template <typename Body>
  void each_worker(Body&& body) {
    if (workers_ == 1 && peer_.request.own_threads) return body(0);
    pool_.run([&](int worker, int) { body(worker); });
  }

  void make_shares(int worker, const std::vector<std::vector<WholeCall>>& of_copies) {
    const auto own = static_cast<std::size_t>(worker);
    for (const auto& of_copy : of_copies) {
      auto& shares = shares_[own].emplace_back();
      for (const WholeCall& whole : of_copy) {
        headroom_peer_call call = share_of(whole, worker, workers_);
        if (peer_.request.own_threads) call.threads = pool_.workers();
        prepare(call, answers_[own]);
        shares.push_back(call);
      }
    }
  }

  void prepare(headroom_peer_call& call, Answer& answer) const {
    if (peer_.prepare == nullptr || call.rows == 0 || answer.code != 0) return;
    headroom_peer_call without_output = call;
    without_output.y = nullptr;
    call.prepared = peer_.prepare(&without_output);
    if (call.prepared == nullptr) answer.code = HEADROOM_PEER_CANNOT;
  }

  const Peer& peer_;
  ThreadPool& pool_;
  const int workers_;
  std::vector<std::vector<std::vector<headroom_peer_call>>> shares_;  ///< by worker, then by copy
  std::vector<Answer> answers_;
};

std::string label(const Peer& peer) {
  return std::filesystem::path(peer.request.path).filename().string() + ":" + peer.request.symbol;
}

void describe(const Peer& peer, State& state) {
  state.note("isa", label(peer));
  state.note("peer", peer.request.own_threads ? "one call, library threads" : "one call per thread");
  if (peer.prepare != nullptr) state.note("weights", "prepared ahead");
  state.restored(peer.changed_by_loading);
}

void require_dtype(const Peer& peer, State& state, const std::string& dtype) {
  if (!peer.request.dtype.empty() && peer.request.dtype != dtype)
    state.skip(fmt::format("{} is declared for {} only (dtype={})", state.backend(), peer.request.dtype,
                           peer.request.dtype));
}

void expect_done(State& state, const Peer& peer, int answer) {
  if (answer == HEADROOM_PEER_DONE) return;
  if (answer == HEADROOM_PEER_CANNOT) {
    state.skip(label(peer) + " does not support this operation, dtype or shape");
  }
  throw WrongAnswer{fmt::format("{} failed: it returned {}", label(peer), answer)};
}

void expect_undamaged(State& state, const Peer& peer, const GuardedOutput& y) {
  if (const std::string damage = y.damage(); !damage.empty()) state.wrong_answer(label(peer) + " " + damage);
}

void measure(const Peer& peer, State& state, ThreadPool& pool, std::vector<std::vector<WholeCall>> of_copies,
             GuardedOutput& y, const std::vector<double>& expected, Tolerance tolerance) {
  describe(peer, state);
  // The library's threads would inherit this single CPU.
  if (peer.request.own_threads) pin_this_thread(pool.cpus());
  PeerCalls calls(peer, pool, std::move(of_copies));
  if (!calls.is_prepared()) {
    state.skip(label(peer) + " cannot prepare this operation, dtype or shape (" + peer.request.symbol +
               "_prepare returned null)");
  }
  const auto once = [&] {
    expect_done(state, peer, calls.run(0));
    expect_undamaged(state, peer, y);
  };
  state.verify(once, y.copy(0), expected, tolerance);
  state.measure([&](std::size_t copy) {
    if (const int answer = calls.run(copy); answer != 0) expect_done(state, peer, answer);
  });
}

std::shared_ptr<ThreadPool> watched_pool(const Peer& peer, State& state) {
  auto pool = shared_pool(state);
  if (peer.request.own_threads) return pool;
  state.threads_of_body([pool](const std::function<void()>& f) { pool->run([&](int, int) { f(); }); });
  return pool;
}

const std::uint16_t* bits_of(const Bf16* values) {
  return reinterpret_cast<const std::uint16_t*>(values);
}

template <typename Workload>
void measure_product_by(const Peer& peer, State& state,
                        std::shared_ptr<const Workload> (*make)(State&, const Team&)) {
  const auto pool = watched_pool(peer, state);
  require_dtype(peer, state, state.text("dtype"));
  const auto inputs = make(state, team_of(*pool));
  GuardedOutput y(Workload::kChosen * inputs->size, 1);
  const std::size_t turns = state.caches() == Caches::kHot ? 1 : inputs->turns();
  std::vector<std::vector<WholeCall>> calls;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    auto& of_turn = calls.emplace_back();
    for (std::size_t chosen = 0; chosen < Workload::kChosen; ++chosen) {
      WholeCall whole = whole_call(HEADROOM_PEER_GEMV, inputs->dtype, inputs->size, inputs->size);
      whole.call.weights = inputs->matrix(turn, chosen);
      whole.call.x = bits_of(inputs->x.data());
      whole.call.y = reinterpret_cast<std::uint16_t*>(y.copy(0).data() + chosen * inputs->size);
      of_turn.push_back(whole);
    }
  }
  measure(peer, state, *pool, std::move(calls), y, inputs->expected, Workload::kTolerance);
}

}  // namespace

PeerRequest parse_peer(const std::string& text) {
  return with_context("--peer " + quote(text), [&] {
    // A path may contain commas and colons, a symbol cannot.
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) throw Error(std::string("no symbol given; ") + kForm);
    std::vector<std::string> words = split(text.substr(colon + 1), ',');
    PeerRequest request{text.substr(0, colon), words.front(), words.front(), {}, false};
    if (request.symbol.empty()) throw Error(std::string("no symbol given; ") + kForm);
    for (std::size_t i = 1; i < words.size(); ++i) take_option(request, words[i]);
    if (!is_name(request.name))
      throw Error(quote(request.name) +
                  " cannot name a backend, which has letters, digits, _ . - only; use name=NAME");
    return request;
  });
}

Peer load_peer(PeerRequest request) {
  const std::vector<std::string> functions = exported_functions(request.path);
  if (std::ranges::find(functions, request.symbol) == functions.end()) {
    const std::string near = did_you_mean(request.symbol, functions);
    throw Error(quote(request.path) + " exports no function " + quote(request.symbol) +
                (near.empty() ? "; nm -D --defined-only lists its functions" : near));
  }
  require_loadable(request.path);
  Peer peer;
  // -ffast-math may link a constructor that flushes to zero.
  const ThreadState before;
  peer.library = std::make_unique<LoadedLibrary>(request.path);
  peer.changed_by_loading = before.restore();
  // Its threads may still run when the runner ends.
  peer.library->keep();
  peer.call = peer.library->function<headroom_peer_function>(request.symbol.c_str());
  peer.prepare =
      peer.library->function<headroom_peer_prepare_function>((request.symbol + "_prepare").c_str());
  peer.release =
      peer.library->function<headroom_peer_release_function>((request.symbol + "_release").c_str());
  peer.request = std::move(request);
  return peer;
}

void measure_gemv_by(const Peer& peer, State& state) {
  measure_product_by(peer, state, gemv_workload);
}

void measure_gather_gemv_by(const Peer& peer, State& state) {
  measure_product_by(peer, state, gather_gemv_workload);
}

void measure_layer_norm_by(const Peer& peer, State& state) {
  const auto pool = watched_pool(peer, state);
  require_dtype(peer, state, state.text("dtype"));
  const auto inputs = layer_norm_workload(state, team_of(*pool));
  const std::size_t values = inputs->rows * inputs->columns, copies = inputs->x.copies();
  state.require_memory(GuardedOutput::bytes_for(values, copies));
  GuardedOutput y(values, copies);
  std::vector<std::vector<WholeCall>> calls;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    WholeCall whole = whole_call(HEADROOM_PEER_LAYER_NORM, "bf16", inputs->rows, inputs->columns);
    whole.call.x = bits_of(reinterpret_cast<const Bf16*>(inputs->x.copy(copy)));
    whole.call.gamma = inputs->gamma.data();
    whole.call.beta = inputs->beta.data();
    whole.call.y = reinterpret_cast<std::uint16_t*>(y.copy(copy).data());
    calls.push_back({whole});
  }
  measure(peer, state, *pool, std::move(calls), y, inputs->expected(team_of(*pool)),
          LayerNormWorkload::kTolerance);
}

}  // namespace headroom::native
