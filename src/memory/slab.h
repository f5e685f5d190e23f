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

/// A contiguous range of a slab that belongs to one block. Any thread may allocate pieces in it, within a
/// RangeScope, and free them. The range ends when this object is destroyed. Pieces that are still allocated
/// stay valid, and the range's bytes stay in use until they are freed. The range and the slab may be
/// destroyed in any order. A default-constructed range belongs to no slab, and its functions must not be
/// called.
class SlabRange {
 public:
  SlabRange() = default;
  SlabRange(SlabRange&& other) noexcept;
  SlabRange& operator=(SlabRange&& other) noexcept;
  ~SlabRange();

  /// Maximum bytes of the range that were in use, holes included. A range of that size is large enough.
  int64_t high() const;
  /// Starts to record all allocations and frees, and forgets what was recorded before.
  void record();
  /// Returns what has been recorded so far; an empty tape without record(). Errors: BudgetExceeded.
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

/// Size of a block's range and the places of its pieces. If `pieces` is empty, each piece is placed where it
/// fits.
struct RangePlan {
  int64_t bytes = 0;
  Vector<PlannedAllocation, Tag::blocks> pieces;
};

/// A piece of a range.
struct SlabAllocation {
  void* data = nullptr;  ///< First byte, where the header goes; null if there is no piece.
  int64_t bytes = 0;     ///< Bytes of the piece, header included.
  SlabRange::State* owner = nullptr;
};

/// One stretch of memory, all of which is entered in the ledger of the process under Tag::activations. Blocks
/// take ranges from it in the order of the blocks, as from a ring buffer. The process keeps the slab's pages,
/// so no block after the first few requests memory from the system. Thread-safe.
class Slab {
 public:
  /// Reserves addresses but no memory. Errors: Failure if the process has no address space left.
  Slab();
  /// Pieces that have not been freed stay valid. The memory is freed with the last of them.
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  /// Resizes the slab to `bytes`, rounded up to pages. If it shrinks, the rest returns to the system. Errors:
  /// BudgetExceeded, with nothing changed, if the ledger or the system refuses; Failure if a range is alive
  /// or a piece of one has not been freed.
  void resize(int64_t bytes);
  int64_t bytes() const;

  /// Takes the next range of the ring. Waits until older ranges have ended and left enough space. The plan
  /// must outlive the range. Errors: BudgetExceeded if the slab is smaller than the range; Failure if it
  /// would wait forever because a block has ended but some of its pieces have not been freed.
  SlabRange take(const RangePlan& plan);
  SlabRange take(int64_t bytes) { return take({bytes, {}}); }
  /// Takes the whole slab as one range. The slab grows as the plan or the pieces need and the ledger allows,
  /// and keeps its new size. Used to measure a block, and to run a block alone. Waits until all older ranges
  /// have ended. The plan must outlive the range. Errors: those of take().
  SlabRange take_all(const RangePlan& plan = {});

  /// Allocates a piece of `bytes` plus a header of kTensorHeader bytes, 64-byte aligned, in the current range
  /// of this thread. Its data is null if `bytes` is 0, if this thread has no range, or if the range is full
  /// and cannot grow. Errors: BudgetExceeded if the ledger refuses to let the range or its tape grow;
  /// std::bad_alloc.
  static SlabAllocation take_piece(int64_t bytes);
  /// Frees a piece of take_piece() whose data is not null. Any thread may call it.
  static void give_piece(const SlabAllocation& piece) noexcept;

  /// Number of pieces that did not fit into their range since the slab was made.
  int64_t overflows() const { return overflows_.load(std::memory_order_relaxed); }
  /// Number of ended ranges that were not used as planned.
  int64_t unforeseen() const { return unforeseen_.load(std::memory_order_relaxed); }

 private:
  friend class SlabRange;
  static void end_range(SlabRange::State* state) noexcept;

  std::atomic<int64_t> overflows_ = 0;
  std::atomic<int64_t> unforeseen_ = 0;
  std::shared_ptr<SlabRing> ring_;
};

/// For its lifetime, tensors that this thread makes are allocated in `range`, which must not be destroyed
/// before. Scopes may be nested; the innermost applies.
class RangeScope {
 public:
  explicit RangeScope(const SlabRange& range);
  ~RangeScope();
  RangeScope(const RangeScope&) = delete;
  RangeScope& operator=(const RangeScope&) = delete;

 private:
  SlabRange::State* before_;
};

/// Is notified when an outermost WorkspaceScope of a thread begins and ends. Used by code that provides the
/// thread with memory outside its range.
class WorkspaceListener {
 public:
  virtual ~WorkspaceListener() = default;
  virtual void begin_workspace() = 0;
  virtual void end_workspace() noexcept = 0;
};

/// For its lifetime, the pieces that this thread allocates in its range are temporary. All must be freed
/// before the scope ends, and together they form one piece of the range. Used for memory that an operator
/// needs only while it runs, if the number and sizes of the pieces depend on more than a block's counts.
/// Scopes may be nested; only the outermost has an effect.
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
