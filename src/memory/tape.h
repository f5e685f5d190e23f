#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/packing.h"

namespace plimsoll {

/// Bytes that stand before each tensor's data.
constexpr int64_t kTensorHeader = 64;

/// The allocations and frees of one piece of work, such as one block's step, in their order: what it needs of
/// memory, and when.
struct Tape {
  static constexpr int32_t kNever = INT32_MAX;

  struct Piece {
    int64_t bytes = 0;       ///< as asked for; of a workspace the most that was asked for at once
    int64_t room = 0;        ///< bytes it takes, with what stands before it and rounded up
    int32_t pieces = 1;      ///< of a workspace the most that were in it at once
    bool workspace = false;  ///< short-lived pieces of one operator (WorkspaceScope)
    int32_t taken = 0;       ///< number of the event
    int32_t given = kNever;  ///< likewise
    std::string operation;   ///< that asked for it
    std::string module;      ///< of the model, that asked for it or whose gradients did; empty: none
  };
  std::vector<Piece> pieces;  ///< in the order of being taken
  int32_t events = 0;

  /// The most bytes asked for at once, and the piece whose taking came to it; {0, -1} without pieces.
  struct Peak {
    int64_t bytes = 0;
    int64_t piece = -1;
  };
  Peak peak() const;
};

/// Bytes of a range that hold all when each piece goes where there is room as it comes (memory/packing.h).
int64_t packed_as_they_come(const Tape& tape);

/// The peak for sizes other than a tape's own, one for each of its pieces.
Tape::Peak peak_of(const Tape& tape, const std::vector<int64_t>& bytes);

/// Writes a tape down as it happens. Destructors call give() and end_workspace(). Not thread-safe.
class TapeRecorder {
 public:
  /// `room`: the bytes that hold `bytes` asked for; `place` tells pieces apart that are held at once. Errors:
  /// std::bad_alloc, also where end_workspace() had no memory to write down what it found.
  void take(int64_t place, int64_t bytes, int64_t room);
  void give(int64_t place) noexcept;
  void begin_workspace();
  void end_workspace() noexcept;
  /// So many more pieces than were taken are in the open workspace.
  void add_to_workspace(int64_t pieces);

  Tape tape;

 private:
  struct Held {
    int64_t place;
    int64_t bytes;
    int64_t room;
    int64_t piece;         // of the tape
    int64_t in_workspace;  // place in workspace_, or -1
  };
  void keep_what_outlives_the_workspace();

  std::vector<Held> held_;
  bool incomplete_ = false;
  int64_t workspace_piece_ = -1;  // open now
  int64_t workspace_bytes_ = 0;
  int32_t workspace_pieces_ = 0;
  Packing workspace_{INT64_MAX};
};

/// While it lives, what this thread asks for outside of slabs is written down, tensors without data among it
/// (ops/meta_tensors.h). May not be nested.
class TapeScope {
 public:
  explicit TapeScope(TapeRecorder& recorder);
  ~TapeScope();
  TapeScope(const TapeScope&) = delete;
  TapeScope& operator=(const TapeScope&) = delete;

  /// That of this thread, or null.
  static TapeRecorder* current();
};

/// What pieces are recorded under: the operation and the module that this thread is in. The texts must
/// outlive their use.
void set_current_operation(const char* name);
const char* current_operation();
void set_current_module(const char* name);
const char* current_module();

}  // namespace plimsoll
