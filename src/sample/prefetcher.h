#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <span>
#include <thread>

#include "sample/batches.h"
#include "sample/block.h"

namespace plimsoll {

/// Reads the graphs of coming blocks on a thread of its own, a few blocks ahead of who uses them, and tells
/// the system which graphs come then while it has to wait for the disk. What it could not read, for want of
/// memory or because of an error, the user reads itself: whether there is a prefetcher, and how far ahead it
/// is, changes no result. Thread-safe.
class Prefetcher {
 public:
  /// `shapes` has an entry for each graph of the source; both must outlive the prefetcher. `ahead`: the most
  /// blocks held at once; 0: none, and no thread.
  Prefetcher(const BlockSource& source, std::span<const GraphShape> shapes, int64_t ahead);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Announces a block by its graphs, which must stay as they are until it is read or forget() is called.
  void expect(std::span<const int64_t> graphs);
  /// Forgets what was announced and not read, and drops what is held.
  void forget();

  /// Puts the graphs of a block into `block`. Errors: as BlockSource::read.
  void read(std::span<const int64_t> graphs, GraphBlock& block);

  /// How many blocks were read ahead and used.
  int64_t hits() const;

 private:
  enum class State : uint8_t { expected, reading, ready, failed };
  struct Coming {
    std::span<const int64_t> graphs;
    State state = State::expected;
    bool advised = false;
    GraphBlock block;
  };

  void read_ahead(const std::stop_token& stop);
  void advise(std::list<Coming>::iterator from);
  void read_now(std::span<const int64_t> graphs, GraphBlock& block) const;

  const BlockSource& source_;
  std::span<const GraphShape> shapes_;
  const int64_t ahead_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Coming> coming_;      // guarded by mutex_, in order
  std::deque<GraphBlock> spare_;  // guarded by mutex_; at most ahead_, whose memory is used again
  int64_t held_ = 0;              // guarded by mutex_; blocks being read or ready
  int64_t hits_ = 0;              // guarded by mutex_
  std::jthread thread_;
};

}  // namespace plimsoll
