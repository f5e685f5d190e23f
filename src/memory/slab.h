#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "memory/ledger.h"
#include "memory/packing.h"
#include "memory/tape.h"
#include "memory/vector.h"

namespace plimsoll {

struct SlabRing;

/// A contiguous range of a slab that one block has to itself. Pieces are taken from it and given back by any
/// thread. It ends with its scope; pieces that are still taken then stay valid, and keep its bytes. Range and
/// slab may end in any order.
class SlabRange {
 public:
  SlabRange() = default;
  SlabRange(SlabRange&& other) noexcept;
  SlabRange& operator=(SlabRange&& other) noexcept;
  ~SlabRange();

  /// The most of the range that was in use, holes included, in bytes: a range of that size is enough.
  int64_t high() const;
  /// Writes down all that is taken and given from now on.
  void record();
  /// What was written down so far.
  Tape tape() const;

  struct State;

 private:
  friend class Slab;
  friend struct SlabRing;
  friend class RangeScope;
  friend class WorkspaceScope;
  explicit SlabRange(State* state) : state_(state) {}
  State* state_ = nullptr;
};

/// How much a block needs, and where its pieces go; without pieces each goes where there is room.
struct RangePlan {
  int64_t bytes = 0;
  Vector<PlannedPiece, Tag::blocks> pieces;
};

/// A piece of a range.
struct SlabPiece {
  void* data = nullptr;
  int64_t bytes = 0;
  SlabRange::State* owner = nullptr;
};

/// One stretch of memory, entered in the ledger of the process as a whole under Tag::activations, from which
/// blocks take ranges in their order: a ring. Its pages stay with the process, so that after the first blocks
/// nothing of a block's memory is asked of the system. Thread-safe, except where said.
class Slab {
 public:
  /// Sets addresses aside, no memory. Errors: Failure where the system has none.
  Slab();
  /// Pieces that are still taken stay valid: the memory goes back with the last of them.
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  /// Makes it `bytes` large; those it loses go back to the system. No range may live. Errors:
  /// BudgetExceeded, with nothing changed.
  void resize(int64_t bytes);
  int64_t bytes() const;

  /// The next range of the ring; waits for older ones to end. The plan must outlive the range. Errors:
  /// BudgetExceeded when the slab is smaller; Failure when it would wait for ever, because a block has ended
  /// and its pieces have not.
  SlabRange take(const RangePlan& plan);
  SlabRange take(int64_t bytes) { return take({bytes, {}}); }
  /// All of the slab, which grows as the plan or pieces need it and the ledger allows, and then stays as
  /// large: for measuring a block and for one that has to run alone. Waits like take(). Errors:
  /// BudgetExceeded.
  SlabRange take_all(const RangePlan& plan = {});

  /// Takes a piece for `bytes` and a header of kTensorHeader, 64-byte aligned, out of the range that this
  /// thread works in. Its data is null when no bytes are asked for, when there is no such range, or it is
  /// full and cannot grow. Errors: BudgetExceeded where a range that grows may not.
  static SlabPiece take_piece(int64_t bytes);
  static void give_piece(const SlabPiece& piece) noexcept;

  /// How many pieces found their range full since the slab was made.
  int64_t overflows() const { return overflows_.load(std::memory_order_relaxed); }
  /// How many ranges were not used as planned.
  int64_t unforeseen() const { return unforeseen_.load(std::memory_order_relaxed); }

 private:
  friend class SlabRange;
  static void end_range(SlabRange::State* state) noexcept;
  void wait_for_older(std::unique_lock<std::mutex>& lock);
  int64_t find_room(int64_t bytes) const;

  std::atomic<int64_t> overflows_ = 0;
  std::atomic<int64_t> unforeseen_ = 0;
  std::shared_ptr<SlabRing> ring_;
};

/// While it lives, tensors that this thread makes are pieces of `range`.
class RangeScope {
 public:
  explicit RangeScope(const SlabRange& range);
  ~RangeScope();
  RangeScope(const RangeScope&) = delete;
  RangeScope& operator=(const RangeScope&) = delete;

 private:
  SlabRange::State* before_;
};

/// Is told of a thread's WorkspaceScopes, the outermost alone: whoever gives the thread memory beside its
/// range.
class WorkspaceListener {
 public:
  virtual ~WorkspaceListener() = default;
  virtual void begin_workspace() = 0;
  virtual void end_workspace() noexcept = 0;
};

/// While it lives, pieces that this thread takes out of its range are temporary: all are given back before it
/// ends, and together they are one piece of the range. For what an operator needs while it runs and only
/// then, whose number and sizes depend on more than a block's counts. May be nested, where only the outermost
/// counts.
class WorkspaceScope {
 public:
  WorkspaceScope();
  ~WorkspaceScope();
  WorkspaceScope(const WorkspaceScope&) = delete;
  WorkspaceScope& operator=(const WorkspaceScope&) = delete;

  /// Whether this thread is inside one.
  static bool inside();
  /// From now on it is told of this thread's; null: nobody is. Not inside one.
  static void tell(WorkspaceListener* listener);

 private:
  SlabRange::State* range_ = nullptr;
  TapeRecorder* recorder_ = nullptr;  // without a range
};

}  // namespace plimsoll
