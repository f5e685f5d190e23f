#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace plimsoll {

/// Another rank of the run has ended or does not answer, so the current exchange cannot be completed. The run
/// continues from its last checkpoint. Exit code 75.
class RankLost : public Error {
 public:
  explicit RankLost(const std::string& text) : Error(75, text) {}
};

/// Sends bytes between the processes of one run, its ranks 0 .. R-1. All ranks make the same calls in the
/// same order. A run of one process has no Exchange; every function with an Exchange parameter accepts null
/// for this case. Not thread-safe.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Starts to send bytes to another rank, or to receive them from it. `bytes` must stay valid until wait()
  /// returns. Bytes from one rank to another arrive in the order in which they were sent. Errors: RankLost.
  virtual void send(int to, std::span<const std::byte> bytes) = 0;
  virtual void receive(int from, std::span<std::byte> bytes) = 0;
  /// Waits until all transfers are done. Errors: RankLost, which names the rank.
  virtual void wait() = 0;

  /// begin_step() and end_step() enclose each step of training. Steps normally need about the same time. If a
  /// step lasts many times longer than the longest one before it, the process that watches the ranks treats
  /// it as a stall.
  virtual void begin_step() {}
  virtual void end_step() {}

  /// Bytes that this rank has sent so far, and time that it has waited, which includes waiting for slower
  /// ranks.
  struct Traffic {
    int64_t bytes_sent = 0;
    double seconds = 0;
  };
  virtual Traffic traffic() const = 0;
};

/// Marks a step of training while it lives. `exchange` may be null.
class RankStep {
 public:
  explicit RankStep(Exchange* exchange) : exchange_(exchange) {
    if (exchange_ != nullptr) exchange_->begin_step();
  }
  ~RankStep() {
    if (exchange_ != nullptr) exchange_->end_step();
  }
  RankStep(const RankStep&) = delete;
  RankStep& operator=(const RankStep&) = delete;

 private:
  Exchange* const exchange_;
};

inline int rank_of(const Exchange* exchange) {
  return exchange == nullptr ? 0 : exchange->rank();
}
inline int ranks_of(const Exchange* exchange) {
  return exchange == nullptr ? 1 : exchange->ranks();
}

/// Gathers the numbers of all ranks. Each rank passes the same number of them, `mine`. The numbers of rank r
/// start at all[r * mine.size()]. Errors of this and of the following functions: RankLost.
void gather(Exchange& exchange, std::span<const double> mine, std::span<double> all);
/// Gathers one text per rank.
std::vector<std::string> gather_texts(Exchange& exchange, const std::string& mine);
/// Copies rank 0's value to every rank. `bytes` has the same size on all ranks.
void broadcast(Exchange& exchange, std::span<std::byte> bytes);
std::string broadcast_text(Exchange& exchange, const std::string& of_rank_0);
/// Waits until every rank has called it. Does nothing if `exchange` is null.
void barrier(Exchange* exchange);

}  // namespace plimsoll
