#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace plimsoll {

/// Another rank of the run is gone, or does not answer: what was begun with it cannot be ended. The run goes
/// on from its last checkpoint. Exit 75.
class RankLost : public Error {
 public:
  explicit RankLost(const std::string& text) : Error(75, text) {}
};

/// How the processes of one run, its ranks 0 .. R-1, hand each other bytes. All ranks make the same calls in
/// the same order. A run of one process has none: wherever an Exchange is asked for null means that. Not
/// thread-safe.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Begins to send bytes to another rank, or to receive them from it; they stay where they are until wait()
  /// returns. Between two ranks bytes arrive in the order in which they were sent.
  virtual void send(int to, std::span<const std::byte> bytes) = 0;
  virtual void receive(int from, std::span<std::byte> bytes) = 0;
  /// Until all that was begun is done. Errors: RankLost, which names the rank.
  virtual void wait() = 0;

  /// Around each step of training, whose time is much the same in all steps: who watches over the ranks takes
  /// a step that is many times longer than the longest before it for a stall.
  virtual void begin_step() {}
  virtual void end_step() {}

  /// What this rank has sent so far, and how long it has waited, for slower ranks too.
  struct Traffic {
    int64_t bytes_sent = 0;
    double seconds = 0;
  };
  virtual Traffic traffic() const = 0;
};

/// A step of training while it lives; null: there are no ranks.
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

/// Of every rank as many numbers as `mine`: those of rank r at all[r * mine.size()].
void gather(Exchange& exchange, std::span<const double> mine, std::span<double> all);
/// A text of every rank.
std::vector<std::string> gather_texts(Exchange& exchange, const std::string& mine);
/// What rank 0 has, on every rank.
void broadcast(Exchange& exchange, std::span<std::byte> bytes);
std::string broadcast_text(Exchange& exchange, const std::string& of_rank_0);
/// Until every rank is here; nothing where there are none.
void meet(Exchange* exchange);

}  // namespace plimsoll
