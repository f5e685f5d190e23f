#include "memory/tape.h"

#include <algorithm>
#include <exception>
#include <new>

namespace plimsoll {
namespace {

thread_local const char* operation = "";
thread_local const char* module_name = "";
thread_local TapeRecorder* scoped = nullptr;

}  // namespace

void set_current_operation(const char* name) {
  operation = name;
}

const char* current_operation() {
  return operation;
}

void set_current_module(const char* name) {
  module_name = name;
}

const char* current_module() {
  return module_name;
}

Tape::Peak peak_of(const Tape& tape, const std::vector<int64_t>& bytes) {
  std::vector<int64_t> change(static_cast<size_t>(tape.events), 0);
  std::vector<int64_t> piece_at(static_cast<size_t>(tape.events), -1);
  for (size_t i = 0; i < tape.pieces.size(); ++i) {
    const Tape::Piece& piece = tape.pieces[i];
    change[static_cast<size_t>(piece.taken)] = bytes[i];
    piece_at[static_cast<size_t>(piece.taken)] = static_cast<int64_t>(i);
    if (piece.given != Tape::kNever) change[static_cast<size_t>(piece.given)] = -bytes[i];
  }
  Tape::Peak peak;
  int64_t held = 0;
  for (size_t event = 0; event < change.size(); ++event) {
    held += change[event];
    if (held > peak.bytes) peak = {held, piece_at[event]};
  }
  return peak;
}

int64_t packed_as_they_come(const Tape& tape) {
  Packing packing(INT64_MAX);
  std::vector<int64_t> place(tape.pieces.size());
  std::vector<size_t> piece_at(static_cast<size_t>(tape.events));
  for (size_t i = 0; i < tape.pieces.size(); ++i) {
    piece_at[static_cast<size_t>(tape.pieces[i].taken)] = i;
    if (tape.pieces[i].given != Tape::kNever) piece_at[static_cast<size_t>(tape.pieces[i].given)] = i;
  }
  for (int32_t event = 0; event < tape.events; ++event) {
    const size_t i = piece_at[static_cast<size_t>(event)];
    const Tape::Piece& piece = tape.pieces[i];
    if (piece.room == 0) continue;
    if (piece.taken == event)
      place[i] = packing.take(piece.room);
    else
      packing.give(place[i], piece.room);
  }
  return packing.high();
}

Tape::Peak Tape::peak() const {
  std::vector<int64_t> bytes;
  for (const Piece& piece : pieces) bytes.push_back(piece.bytes);
  return peak_of(*this, bytes);
}

void TapeRecorder::take(int64_t place, int64_t bytes, int64_t room) {
  if (incomplete_) throw std::bad_alloc();
  if (workspace_piece_ >= 0) {
    Tape::Piece& workspace = tape.pieces[static_cast<size_t>(workspace_piece_)];
    if (bytes == 0) return;
    workspace.pieces = std::max(workspace.pieces, ++workspace_pieces_);
    held_.push_back({place, bytes, room, -1, workspace_.take(room)});
    workspace_bytes_ += bytes;
    workspace.bytes = std::max(workspace.bytes, workspace_bytes_);
    workspace.room = workspace_.high();
    return;
  }
  const auto index = static_cast<int64_t>(tape.pieces.size());
  // Pieces of 0 bytes are never given back.
  if (bytes > 0) held_.push_back({place, bytes, room, index, -1});
  tape.pieces.push_back({.bytes = bytes,
                         .room = Packing::round_up(room),
                         .taken = tape.events++,
                         .operation = operation,
                         .module = module_name});
}

void TapeRecorder::give(int64_t place) noexcept {
  // Search from the newest, because most pieces are short-lived.
  const auto found =
      std::find_if(held_.rbegin(), held_.rend(), [&](const Held& h) { return h.place == place; });
  if (found == held_.rend()) return;
  const Held piece = *found;
  held_.erase(std::next(found).base());
  if (piece.in_workspace >= 0) {
    workspace_.give(piece.in_workspace, piece.room);
    workspace_bytes_ -= piece.bytes;
    --workspace_pieces_;
  } else {
    tape.pieces[static_cast<size_t>(piece.piece)].given = tape.events++;
  }
}

void TapeRecorder::begin_workspace() {
  tape.pieces.push_back({.pieces = 0,
                         .workspace = true,
                         .taken = tape.events++,
                         .operation = operation,
                         .module = module_name});
  workspace_piece_ = static_cast<int64_t>(tape.pieces.size()) - 1;
  workspace_bytes_ = 0;
  workspace_pieces_ = 0;
  workspace_ = Packing(INT64_MAX);
}

void TapeRecorder::add_to_workspace(int64_t pieces) {
  tape.pieces[static_cast<size_t>(workspace_piece_)].pieces += static_cast<int32_t>(pieces);
}

void TapeRecorder::end_workspace() noexcept {
  tape.pieces[static_cast<size_t>(workspace_piece_)].given = tape.events++;
  workspace_piece_ = -1;
  try {
    keep_what_outlives_the_workspace();
  } catch (const std::exception&) {
    incomplete_ = true;
  }
}

// Pieces that outlive their workspace become pieces of the tape.
void TapeRecorder::keep_what_outlives_the_workspace() {
  for (Held& held : held_) {
    if (held.in_workspace < 0) continue;
    const auto piece = static_cast<int64_t>(tape.pieces.size());
    tape.pieces.push_back({.bytes = held.bytes,
                           .room = Packing::round_up(held.room),
                           .taken = tape.events++,
                           .operation = operation,
                           .module = module_name});
    held.in_workspace = -1;
    held.piece = piece;
  }
}

TapeScope::TapeScope(TapeRecorder& recorder) {
  scoped = &recorder;
}

TapeScope::~TapeScope() {
  scoped = nullptr;
}

TapeRecorder* TapeScope::current() {
  return scoped;
}

}  // namespace plimsoll
