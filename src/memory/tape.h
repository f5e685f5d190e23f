#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "memory/packing.h"
#include "memory/vector.h"

namespace plimsoll {

/// Bytes stored before each tensor's data.
constexpr int64_t kTensorHeader = 64;

/// The allocations and frees of some work, such as one block's step, in their order. They determine how much
/// memory the work needs at each moment. An event allocates or frees one piece.
struct Tape {
  static constexpr int32_t kNever = INT32_MAX;

  struct Piece {
    int64_t bytes = 0;       ///< Bytes requested; for a workspace, the maximum held at a time.
    int64_t room = 0;        ///< Bytes allocated: `bytes`, the header before them and rounding.
    int32_t pieces = 1;      ///< Maximum number of pieces held at a time in a workspace.
    bool workspace = false;  ///< Whether it holds the short-lived pieces of one operator (WorkspaceScope).
    int32_t taken = 0;       ///< Index of the event that allocates it.
    int32_t given = kNever;  ///< Index of the event that frees it.
    std::string_view operation;  ///< Operation that requested it. Names live as long as the program.
    /// Module of the model that requested it, or whose gradients did; empty for none.
    std::string_view module;
  };
  Vector<Piece, Tag::columns> pieces;  ///< In the order in which they are taken.
  int32_t events = 0;                  ///< Number of events.

  /// Maximum of the requested bytes held at a time, and the piece whose allocation reached it; {0, -1}
  /// without pieces.
  struct Peak {
    int64_t bytes = 0;
    int64_t piece = -1;
  };
  Peak peak() const;
};

/// Returns the size in bytes of a range that holds all pieces if each is placed, without a plan, where it
/// fits (memory/packing.h).
int64_t packed_as_they_come(const Tape& tape);

/// Returns the peak for sizes other than the tape's: `bytes` has the size of each piece.
Tape::Peak peak_of(const Tape& tape, const std::vector<int64_t>& bytes);

/// Records a tape while the work runs. give() and end_workspace() do not throw, because destructors call
/// them. Not thread-safe.
class TapeRecorder {
 public:
  /// Records an allocation of `room` bytes that hold the `bytes` requested; `place` identifies the piece
  /// while it is held. Errors: BudgetExceeded; std::bad_alloc, also if an earlier end_workspace() had no
  /// memory for its records.
  void take(int64_t place, int64_t bytes, int64_t room);
  /// Records that a piece is freed. Ignores a place that is not held.
  void give(int64_t place) noexcept;
  /// Opens a workspace: until end_workspace(), pieces are recorded together as one piece of the tape.
  /// Workspaces cannot be nested. Pieces still held at the end become pieces of their own. Errors:
  /// BudgetExceeded.
  void begin_workspace();
  void end_workspace() noexcept;
  /// Adds `pieces` to the maximum number of pieces in the open workspace.
  void add_to_workspace(int64_t pieces);

  Tape tape;

 private:
  struct Held {
    int64_t place;
    int64_t bytes;
    int64_t room;
    int64_t piece;         // Index in the tape.
    int64_t in_workspace;  // Place in workspace_, or -1.
  };
  void keep_what_outlives_the_workspace();

  std::vector<Held> held_;
  bool incomplete_ = false;
  int64_t workspace_piece_ = -1;  // Index of the open workspace, or -1.
  int64_t workspace_bytes_ = 0;
  int32_t workspace_pieces_ = 0;
  Packing workspace_{INT64_MAX};
};

/// For its lifetime, records all allocations that this thread makes outside slabs, including tensors without
/// data (ops/meta_tensors.h). Must not be nested.
class TapeScope {
 public:
  explicit TapeScope(TapeRecorder& recorder);
  ~TapeScope();
  TapeScope(const TapeScope&) = delete;
  TapeScope& operator=(const TapeScope&) = delete;

  /// The recorder of this thread, or null.
  static TapeRecorder* current();
};

/// Set the operation and the module that this thread runs, under which pieces are recorded. Tapes keep
/// pointers to the texts, which must therefore live as long as the program. Both are "" at first.
void set_current_operation(const char* name);
const char* current_operation();
void set_current_module(const char* name);
const char* current_module();

}  // namespace plimsoll
