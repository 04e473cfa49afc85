// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/case_thread.h"

#include <exception>
#include <new>
#include <utility>

#include "headroom/process/affinity.h"

namespace headroom {
namespace {

/// A failure without a reason would read as a sample.
std::string reason_or(std::string reason, const char* otherwise) {
  return reason.empty() ? std::string(otherwise) : std::move(reason);
}

SampleReply failed_reply(std::string reason) {
  SampleReply reply;
  reply.failure = std::move(reason);
  return reply;
}

/// Runs the experiment's function; an exception becomes the outcome.
Outcome outcome_of(const Experiment& experiment, const CaseSpec& spec, SampleSource& source,
                   SharedObjects& shared, Conclusion& conclusion) {
  try {
    State state(spec, source, shared);
    experiment.function()(state);
    conclusion = state.conclusion();
    return {};
  } catch (const SkipCase& skip) {
    return {Outcome::Kind::kSkipped, reason_or(skip.reason, "skipped without a reason")};
  } catch (const WrongAnswer& wrong) {
    return {Outcome::Kind::kFailed, wrong.reason};
  } catch (const std::bad_alloc&) {
    return {Outcome::Kind::kFailed, "out of memory"};
  } catch (const std::exception& error) {
    return {Outcome::Kind::kFailed, reason_or(error.what(), "threw an exception that says nothing")};
  } catch (...) {
    return {Outcome::Kind::kFailed, "threw something that is not a std::exception"};
  }
}

}  // namespace

CaseThread::CaseThread(const Experiment& experiment, CaseSpec spec, SharedObjects& shared) {
  thread_ =
      std::thread([this, &experiment, spec = std::move(spec), &shared] { run(experiment, spec, shared); });
  await(Turn::kCaller);
}

CaseThread::~CaseThread() {
  if (thread_.joinable()) end();
}

Conclusion CaseThread::conclude() {
  concluding_ = !ended_;
  end();
  return std::move(conclusion_);
}

void CaseThread::end() {
  {
    const std::lock_guard lock(mutex_);
    released_ = true;
    request_.reset();
    turn_ = Turn::kCase;
  }
  changed_.notify_all();
  thread_.join();
}

void CaseThread::run(const Experiment& experiment, const CaseSpec& spec, SharedObjects& shared) {
  // Cases that are compared must share one CPU: where another program sits on some of them, each thread would
  // keep the one that it woke on first, and the difference between CPUs would pass for one between the cases.
  if (spec.threads == 1 && !experiment.is_placing_itself()) pin_this_thread(allowed_cpus().back());
  Outcome outcome = outcome_of(experiment, spec, *this, shared, conclusion_);
  if (outcome.kind == Outcome::Kind::kMeasured && !released_) {
    outcome = {Outcome::Kind::kFailed,
               is_ready_ ? "returned from measure() early" : "the experiment never called measure()"};
  }
  if (!is_ready_) prepared_.outcome = outcome;
  reply_ = failed_reply(outcome.reason);
  conclusion_.failure = outcome.reason;
  ended_ = true;
  hand_over_to(Turn::kCaller);
}

SampleReply CaseThread::sample(const SampleRequest& request) {
  if (ended_) return failed_reply(reply_.failure.empty() ? "the case has ended" : reply_.failure);
  request_ = request;
  hand_over_to(Turn::kCase);
  await(Turn::kCaller);
  return reply_;
}

void CaseThread::ready(const CaseInfo& info) {
  prepared_.outcome.kind = Outcome::Kind::kMeasured;
  prepared_.info = info;
  is_ready_ = true;
}

std::optional<SampleRequest> CaseThread::next() {
  hand_over_to(Turn::kCaller);
  await(Turn::kCase);
  return std::exchange(request_, std::nullopt);
}

void CaseThread::deliver(const Sample& sample) {
  reply_.sample = sample;
  reply_.failure.clear();
}

void CaseThread::hand_over_to(Turn turn) {
  {
    const std::lock_guard lock(mutex_);
    turn_ = turn;
  }
  changed_.notify_all();
}

void CaseThread::await(Turn turn) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return turn_ == turn; });
}

}  // namespace headroom
