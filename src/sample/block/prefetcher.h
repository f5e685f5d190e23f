#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <span>
#include <thread>

#include "base/mutex.h"
#include "base/span_sink.h"
#include "sample/block/batches.h"
#include "sample/block/block.h"

namespace plimsoll {

/// Reads the graphs of future blocks on a separate thread, a few blocks before they are needed. If it has to
/// wait for the disk, it also tells the system which graphs come next. The caller reads the blocks that it
/// could not read, for lack of memory or because of an error. Prefetching therefore never changes a result,
/// however far ahead it reads. Thread-safe.
class Prefetcher {
 public:
  /// `shapes` has one entry per graph of the source; both must outlive the prefetcher. `ahead` is the maximum
  /// number of blocks held at once; if it is 0, there is no thread. Errors: ThreadRefused.
  Prefetcher(const BlockSource& source, const GraphShapes& shapes, int64_t ahead);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Makes every block that is read from now on have this capacity, so that none grows, because growing would
  /// leave holes in the heap.
  void make_room(const BlockSize& largest);

  /// Announces blocks: `begins` is the result of cut_blocks(). The graphs must stay unchanged until all
  /// blocks are read or forget() is called.
  void expect(std::span<const int64_t> graphs, GraphList begins);
  /// Drops announced blocks that have not been read yet. The memory of blocks that were read is kept for the
  /// next ones.
  void forget();
  /// Calls forget() and frees the memory of all blocks that it holds.
  void drop();

  /// Puts the graphs of a block into `block`. Blocks that were read ahead are recognised by the address of
  /// `graphs`, which must be part of the span given to expect(). Errors: those of BlockSource::read();
  /// BudgetExceeded.
  void read(std::span<const int64_t> graphs, GraphBlock& block);

  /// Calls `on_read` from now on with each block that was read ahead, on the thread that reads ahead. It must
  /// not throw. Call it before expect().
  void on_read(std::function<void(const GraphBlock&)> on_read);

  /// Records in `spans` from now on what is read ahead and when; null disables this. `spans` must live as
  /// long as this object or until the next call of trace().
  void trace(SpanSink* spans);

 private:
  enum class State : uint8_t { reading, ready, failed };
  struct BlockRead {
    std::span<const int64_t> graphs;
    State state = State::reading;
    GraphBlock block;
  };
  // Blocks that were announced together. Blocks before `next` have been read or are being read.
  struct Announced {
    std::span<const int64_t> graphs;
    GraphList begins;
    size_t next = 0;
    bool done() const { return next + 1 >= begins.size(); }
    std::span<const int64_t> block(size_t b) const;
  };

  std::list<BlockRead> take_next() PLIMSOLL_REQUIRES(mutex_);
  void read_ahead(const std::stop_token& stop);
  void pass_over(std::span<const int64_t> graphs) PLIMSOLL_REQUIRES(mutex_);
  void advise() PLIMSOLL_REQUIRES(mutex_);
  void read_now(std::span<const int64_t> graphs, GraphBlock& block) const;

  const BlockSource& source_;
  GraphShapes shapes_;
  const int64_t ahead_;
  Mutex mutex_;
  StoppableConditionVariable changed_;
  std::deque<Announced> announced_ PLIMSOLL_GUARDED_BY(mutex_);  // In the order of announcement.
  std::list<BlockRead> reads_ PLIMSOLL_GUARDED_BY(mutex_);       // At most ahead_ blocks.
  bool advising_ PLIMSOLL_GUARDED_BY(mutex_) = false;  // Whether the thread uses announced graphs without the
                                                       // lock.
  BlockSize largest_ PLIMSOLL_GUARDED_BY(mutex_);
  std::deque<GraphBlock> spare_ PLIMSOLL_GUARDED_BY(mutex_);  // At most ahead_ blocks, whose memory is
                                                              // reused.
  SpanSink* spans_ PLIMSOLL_GUARDED_BY(mutex_) = nullptr;
  std::function<void(const GraphBlock&)> on_read_;
  std::jthread thread_;
};

}  // namespace plimsoll
