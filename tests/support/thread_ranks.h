#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/blocks/exchange.h"

namespace plimsoll {

/// Ends a rank that is killed.
struct Killed : std::exception {};

/// Ranks that are threads of one process. Their messages wait in queues.
class ThreadRanks {
 public:
  explicit ThreadRanks(int ranks) : ranks_(ranks) {}

  /// Calls work(exchange) on a thread for each rank, and throws the exception of the lowest rank.
  void run(const std::function<void(Exchange&)>& work) {
    std::vector<std::exception_ptr> errors(static_cast<size_t>(ranks_));
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < ranks_; ++rank)
        threads.emplace_back([&, rank] {
          Rank exchange(*this, rank);
          try {
            work(exchange);
          } catch (...) {
            errors[static_cast<size_t>(rank)] = std::current_exception();
          }
          const std::lock_guard lock(mutex_);
          gone_[rank] = true;
          changed_.notify_all();
        });
    }
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
  }

  /// Silences a rank from now on. It ends when it next talks to another rank.
  void kill(int rank) {
    const std::lock_guard lock(mutex_);
    killed_[rank] = true;
  }

 private:
  using Message = std::vector<std::byte>;

  class Rank final : public Exchange {
   public:
    Rank(ThreadRanks& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int ranks() const override { return all_.ranks_; }
    void send(int to, std::span<const std::byte> bytes) override {
      const std::lock_guard lock(all_.mutex_);
      if (all_.killed_[rank_]) throw Killed();
      all_.sent_[{rank_, to}].emplace_back(bytes.begin(), bytes.end());
      traffic_.bytes_sent += std::ssize(bytes);
      all_.changed_.notify_all();
    }
    void receive(int from, std::span<std::byte> bytes) override { wanted_.emplace_back(from, bytes); }
    void wait() override {
      for (const auto& [from, bytes] : wanted_) {
        std::unique_lock lock(all_.mutex_);
        if (all_.killed_[rank_]) throw Killed();
        std::deque<Message>& queue = all_.sent_[{from, rank_}];
        all_.changed_.wait(lock, [&, sender = from] { return !queue.empty() || all_.gone_[sender]; });
        if (queue.empty()) throw RankLost("rank " + std::to_string(from) + " has ended");
        if (queue.front().size() != bytes.size()) throw Failure("another number of bytes than was sent");
        std::ranges::copy(queue.front(), bytes.begin());
        queue.pop_front();
      }
      wanted_.clear();
    }
    Traffic traffic() const override { return traffic_; }

   private:
    ThreadRanks& all_;
    const int rank_;
    std::vector<std::pair<int, std::span<std::byte>>> wanted_;
    Traffic traffic_;
  };

  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<Message>> sent_;  // Guarded by mutex_.
  std::map<int, bool> gone_, killed_;                        // Guarded by mutex_.
};

}  // namespace plimsoll
