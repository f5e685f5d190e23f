#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/device.h"

namespace plimsoll {

/// An error in the use of a device, found by the stand-in for a device (host_device.h).
class DeviceFault : public Failure {
 public:
  enum class Kind : uint8_t {
    wrong_side,    ///< Host memory was found where device memory was expected, or vice versa.
    ended,         ///< An access to memory that was freed or never allocated.
    unwritten,     ///< A read of memory that was never written.
    missing_wait,  ///< Two unordered accesses, at least one of which is a write.
  };
  DeviceFault(Kind kind, const std::string& text) : Failure(text), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// Checks the order of accesses to memory that several timelines share. Each stream is a timeline, and so is
/// the host. Each timeline has a vector clock (Mattern 1989), as in race detectors for threads (FastTrack,
/// Flanagan and Freund 2009), so that a missing wait is found whatever the timing was. Not thread-safe.
class AccessCheck {
 public:
  static constexpr size_t kHost = 0;
  enum class Side : uint8_t { device, pinned };
  /// The known progress of each timeline.
  using Clock = std::vector<uint64_t>;

  AccessCheck() : clocks_{{1}} {}
  /// Adds a timeline and returns its number, from 1.
  size_t add_stream();

  /// Adds memory in which pieces will begin and end. It has no pieces at first. remove_memory() removes it
  /// with the pieces that have not ended.
  void add_memory(Stretch memory, Side side);
  void remove_memory(Stretch memory);

  /// begin_piece() begins an unwritten piece on a timeline; end_piece() ends a piece. All earlier accesses to
  /// its memory must be ordered before this point. Errors: DeviceFault.
  void begin_piece(size_t timeline, Stretch piece);
  void end_piece(size_t timeline, Stretch piece);
  /// Checks work `name`, a literal, that the host puts on a timeline, and records its accesses. `side` is the
  /// memory that accesses which are not marked as pinned must be in. Errors: DeviceFault, with no access
  /// recorded.
  void access(size_t timeline, const char* name, Side side, std::span<const Access> accesses);

  /// record() returns the point that the work put on a timeline has reached so far. wait() makes the timeline
  /// continue after such a point.
  Clock record(size_t timeline);
  void wait(size_t timeline, const Clock& clock);

 private:
  struct Point {
    size_t timeline = kHost;
    uint64_t tick = 0;
    const char* name = "";
  };
  struct Cell {
    uintptr_t end = 0;
    Side side = Side::device;
    bool lives = false;
    bool written = false;
    Point write = {};
    std::vector<Point> reads = {};  // The last read of each timeline since the write.
  };
  using Cells = std::map<uintptr_t, Cell>;

  Clock& begin_step(size_t timeline);
  bool is_before(const Point& point, const Clock& clock) const;
  void require_order(const Cell& cell, const Clock& clock, size_t timeline, const char* name,
                     bool writes) const;
  // Returns the cells that cover exactly these bytes. Errors: DeviceFault if some bytes are outside all added
  // memory.
  std::pair<Cells::iterator, Cells::iterator> cells_of(const char* name, const void* data, int64_t bytes);
  void split(uintptr_t at);

  Cells cells_;
  std::vector<Clock> clocks_;
};

}  // namespace plimsoll
