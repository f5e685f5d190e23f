#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <span>
#include <thread>

#include "base/span_sink.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"

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

  /// Each block that is read ahead from now on has room for this, so that none grows: what a block outgrows
  /// the heap would keep as holes.
  void make_room(const BlockSize& largest);

  /// Announces blocks: `begins` as cut_blocks() gives it. The graphs must stay as they are until all are read
  /// or forget() is called.
  void expect(std::span<const int64_t> graphs, GraphList begins);
  /// Forgets what was announced and not read. Blocks that were read keep their memory for the next ones.
  void forget();
  /// Forgets, and gives the memory of all blocks back.
  void drop();

  /// Puts the graphs of a block into `block`. Errors: as BlockSource::read.
  void read(std::span<const int64_t> graphs, GraphBlock& block);

  /// From now on tells `spans` what is read ahead, and when; null: nobody.
  void trace(SpanSink* spans);

 private:
  enum class State : uint8_t { reading, ready, failed };
  struct Coming {
    std::span<const int64_t> graphs;
    State state = State::reading;
    GraphBlock block;
  };
  // Blocks that were announced together and that nobody reads yet: those from `next` on.
  struct Announced {
    std::span<const int64_t> graphs;
    GraphList begins;
    size_t next = 0;
    bool done() const { return next + 1 >= begins.size(); }
    std::span<const int64_t> block(size_t b) const;
  };

  std::list<Coming> take_next();
  void read_ahead(const std::stop_token& stop);
  void pass_over(std::span<const int64_t> graphs);
  void advise(std::unique_lock<std::mutex>& lock);
  void read_now(std::span<const int64_t> graphs, GraphBlock& block) const;

  const BlockSource& source_;
  std::span<const GraphShape> shapes_;
  const int64_t ahead_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Announced> announced_;  // guarded by mutex_, in order
  std::list<Coming> coming_;         // guarded by mutex_; at most ahead_
  bool advising_ = false;            // guarded by mutex_; the thread looks at announced graphs
  BlockSize largest_;                // guarded by mutex_
  std::deque<GraphBlock> spare_;     // guarded by mutex_; at most ahead_, whose memory is used again
  SpanSink* spans_ = nullptr;        // guarded by mutex_
  std::jthread thread_;
};

}  // namespace plimsoll
