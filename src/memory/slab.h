#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "memory/ledger.h"
#include "memory/packing.h"
#include "memory/tape.h"
#include "memory/vector.h"

namespace plimsoll {

struct SlabRing;

/// A contiguous range of a slab that belongs to one block. Any thread may take pieces from it and give them
/// back. The range ends with its scope. Pieces not given back by then stay valid and keep its bytes. The
/// range and the slab may be destroyed in any order.
class SlabRange {
 public:
  SlabRange() = default;
  SlabRange(SlabRange&& other) noexcept;
  SlabRange& operator=(SlabRange&& other) noexcept;
  ~SlabRange();

  /// Maximum bytes of the range that were in use, holes included. A range of that size is large enough.
  int64_t high() const;
  /// Starts to record all pieces that are taken and given back.
  void record();
  /// Returns what has been recorded so far.
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

/// Size of a block's range and the places of its pieces. Without pieces, each goes wherever it fits.
struct RangePlan {
  int64_t bytes = 0;
  Vector<PlannedAllocation, Tag::blocks> pieces;
};

/// A piece of a range.
struct SlabAllocation {
  void* data = nullptr;
  int64_t bytes = 0;
  SlabRange::State* owner = nullptr;
};

/// One stretch of memory, entered in the ledger of the process as a whole under Tag::activations. Blocks take
/// ranges from it in their order, as from a ring. The process keeps its pages, so after the first blocks no
/// block requests memory from the system. Thread-safe, except where noted.
class Slab {
 public:
  /// Reserves addresses but no memory. Errors: Failure if the system has none.
  Slab();
  /// Pieces that have not been given back stay valid. The memory is freed with the last of them.
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  /// Resizes the slab to `bytes`. If it shrinks, the rest returns to the system. No range may be alive.
  /// Errors: BudgetExceeded, with nothing changed.
  void resize(int64_t bytes);
  int64_t bytes() const;

  /// Takes the next range of the ring; waits for older ones to end. The plan must outlive the range. Errors:
  /// BudgetExceeded if the slab is smaller than the range; Failure if it would wait forever because a block
  /// has ended but some of its pieces have not been given back.
  SlabRange take(const RangePlan& plan);
  SlabRange take(int64_t bytes) { return take({bytes, {}}); }
  /// Takes the whole slab as one range. The slab grows as the plan or the pieces need and the ledger allows,
  /// and keeps its new size. Used to measure a block, and to run a block alone. Waits like take(). Errors:
  /// BudgetExceeded.
  SlabRange take_all(const RangePlan& plan = {});

  /// Takes a piece for `bytes` and a header of kTensorHeader, 64-byte aligned, from the current range of this
  /// thread. Its data is null if `bytes` is 0, if this thread has no range, or if the range is full and
  /// cannot grow. Errors: BudgetExceeded if the ledger refuses to let the range grow.
  static SlabAllocation take_piece(int64_t bytes);
  static void give_piece(const SlabAllocation& piece) noexcept;

  /// Number of pieces that did not fit into their range since the slab was made.
  int64_t overflows() const { return overflows_.load(std::memory_order_relaxed); }
  /// Number of ranges that were not used as planned.
  int64_t unforeseen() const { return unforeseen_.load(std::memory_order_relaxed); }

 private:
  friend class SlabRange;
  static void end_range(SlabRange::State* state) noexcept;

  std::atomic<int64_t> overflows_ = 0;
  std::atomic<int64_t> unforeseen_ = 0;
  std::shared_ptr<SlabRing> ring_;
};

/// Tensors that this thread makes while it lives are pieces of `range`.
class RangeScope {
 public:
  explicit RangeScope(const SlabRange& range);
  ~RangeScope();
  RangeScope(const RangeScope&) = delete;
  RangeScope& operator=(const RangeScope&) = delete;

 private:
  SlabRange::State* before_;
};

/// Is notified of the outermost WorkspaceScopes of a thread. Used by code that gives the thread memory
/// outside its range.
class WorkspaceListener {
 public:
  virtual ~WorkspaceListener() = default;
  virtual void begin_workspace() = 0;
  virtual void end_workspace() noexcept = 0;
};

/// Marks the pieces that this thread takes from its range while it lives as temporary. All must be given back
/// before it ends, and together they are one piece of the range. Used for memory that an operator needs only
/// while it runs, if the number and sizes of its pieces depend on more than a block's counts. Scopes may be
/// nested; only the outermost counts.
class WorkspaceScope {
 public:
  WorkspaceScope();
  ~WorkspaceScope();
  WorkspaceScope(const WorkspaceScope&) = delete;
  WorkspaceScope& operator=(const WorkspaceScope&) = delete;

  /// Returns whether this thread is inside a scope.
  static bool inside();
  /// Sets the listener of this thread's scopes, or removes it with null. Must not be called inside a scope.
  static void set_listener(WorkspaceListener* listener);

 private:
  SlabRange::State* range_ = nullptr;
  TapeRecorder* recorder_ = nullptr;  // Set if the thread has no range.
};

}  // namespace plimsoll
