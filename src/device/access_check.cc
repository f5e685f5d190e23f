#include "device/access_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

uintptr_t address(const void* data) {
  return reinterpret_cast<uintptr_t>(data);
}

std::string timeline_name(size_t timeline) {
  return timeline == AccessCheck::kHost ? "the host" : fmt::format("stream {}", timeline);
}

}  // namespace

size_t AccessCheck::add_stream() {
  clocks_.emplace_back();
  return clocks_.size() - 1;
}

void AccessCheck::add_memory(Stretch memory, Side side) {
  cells_[address(memory.data)] = {.end = address(memory.data) + static_cast<uintptr_t>(memory.bytes),
                                  .side = side};
}

void AccessCheck::remove_memory(Stretch memory) {
  const uintptr_t begin = address(memory.data);
  const uintptr_t end = begin + static_cast<uintptr_t>(memory.bytes);
  cells_.erase(cells_.lower_bound(begin), cells_.lower_bound(end));
}

void AccessCheck::begin_piece(size_t timeline, Stretch piece) {
  const auto [first, last] = cells_of("taking memory", piece.data, piece.bytes);
  const Clock& clock = begin_step(timeline);
  for (auto at = first; at != last; ++at)
    require_order(at->second, clock, timeline, "taking memory", /*writes=*/true);
  if (first == last) return;
  first->second = {.end = std::prev(last)->second.end,
                   .side = first->second.side,
                   .lives = true,
                   .write = {timeline, clock[timeline], "taking memory"}};
  cells_.erase(std::next(first), last);
}

void AccessCheck::end_piece(size_t timeline, Stretch piece) {
  const Access whole = writes(piece.data, piece.bytes);
  const auto [first, last] = cells_of("giving back memory", piece.data, piece.bytes);
  if (first == last) return;
  access(timeline, "giving back memory", first->second.side, {&whole, 1});
  for (auto at = first; at != last; ++at) at->second.lives = false;
}

void AccessCheck::access(size_t timeline, const char* name, Side side, std::span<const Access> accesses) {
  const Clock& clock = begin_step(timeline);
  for (const Access& access : accesses) {
    const auto [first, last] = cells_of(name, access.data, access.bytes);
    for (auto at = first; at != last; ++at) {
      const Cell& cell = at->second;
      const Side expected = access.pinned ? Side::pinned : side;
      if (cell.side != expected)
        throw DeviceFault(DeviceFault::Kind::wrong_side,
                          fmt::format("'{}' takes {} memory at {} where {} memory is expected", name,
                                      cell.side == Side::device ? "device" : "pinned", fmt::ptr(access.data),
                                      expected == Side::device ? "device" : "pinned"));
      if (!cell.lives)
        throw DeviceFault(DeviceFault::Kind::ended,
                          fmt::format("'{}' on {} uses memory at {} that was {} by '{}'", name,
                                      timeline_name(timeline), fmt::ptr(access.data),
                                      cell.write.tick == 0 ? "never taken" : "given back", cell.write.name));
      require_order(cell, clock, timeline, name, access.writes);
      if (!access.writes && !cell.written)
        throw DeviceFault(DeviceFault::Kind::unwritten,
                          fmt::format("'{}' on {} reads {} bytes at {} of which some were never written",
                                      name, timeline_name(timeline), access.bytes, fmt::ptr(access.data)));
    }
  }
  const Point here{timeline, clock[timeline], name};
  for (const Access& access : accesses) {
    const auto [first, last] = cells_of(name, access.data, access.bytes);
    for (auto at = first; at != last; ++at) {
      Cell& cell = at->second;
      std::erase_if(cell.reads,
                    [&](const Point& read) { return access.writes || read.timeline == timeline; });
      if (access.writes) {
        cell.write = here;
        cell.written = true;
      } else {
        cell.reads.push_back(here);
      }
    }
  }
}

AccessCheck::Clock AccessCheck::record(size_t timeline) {
  return begin_step(timeline);
}

void AccessCheck::wait(size_t timeline, const Clock& clock) {
  Clock& mine = clocks_[timeline];
  mine.resize(std::max(mine.size(), clock.size()));
  for (size_t t = 0; t < clock.size(); ++t) mine[t] = std::max(mine[t], clock[t]);
}

AccessCheck::Clock& AccessCheck::begin_step(size_t timeline) {
  // The host puts work on a stream after all work that it has seen.
  if (timeline != kHost) {
    ++clocks_[kHost][kHost];
    wait(timeline, clocks_[kHost]);
  }
  Clock& mine = clocks_[timeline];
  mine.resize(std::max(mine.size(), clocks_.size()));
  ++mine[timeline];
  return mine;
}

bool AccessCheck::is_before(const Point& point, const Clock& clock) const {
  return point.tick == 0 || (point.timeline < clock.size() && point.tick <= clock[point.timeline]);
}

void AccessCheck::require_order(const Cell& cell, const Clock& clock, size_t timeline, const char* name,
                                bool writes) const {
  const auto refuse = [&](const Point& before, const char* did) {
    throw DeviceFault(
        DeviceFault::Kind::missing_wait,
        fmt::format("missing wait: '{}' on {} {} what '{}' on {} {}; let {} wait for an event recorded after "
                    "it",
                    name, timeline_name(timeline), writes ? "writes" : "reads", before.name,
                    timeline_name(before.timeline), did, timeline_name(timeline)));
  };
  if (!is_before(cell.write, clock)) refuse(cell.write, "writes");
  if (!writes) return;
  for (const Point& read : cell.reads)
    if (!is_before(read, clock)) refuse(read, "reads");
}

std::pair<AccessCheck::Cells::iterator, AccessCheck::Cells::iterator> AccessCheck::cells_of(const char* name,
                                                                                            const void* data,
                                                                                            int64_t bytes) {
  const uintptr_t begin = address(data);
  const uintptr_t end = begin + static_cast<uintptr_t>(bytes);
  if (bytes == 0) return {cells_.end(), cells_.end()};
  split(begin);
  split(end);
  const auto first = cells_.find(begin);
  uintptr_t at = begin;
  auto last = first;
  while (last != cells_.end() && last->first == at && at < end) at = (last++)->second.end;
  if (at != end)
    throw DeviceFault(DeviceFault::Kind::wrong_side,
                      fmt::format("'{}' uses {} bytes at {}, of which those from {} on are not memory that "
                                  "the device has or may copy",
                                  name, bytes, fmt::ptr(data), at - begin));
  return {first, last};
}

void AccessCheck::split(uintptr_t at) {
  auto cell = cells_.upper_bound(at);
  if (cell == cells_.begin()) return;
  --cell;
  if (cell->first == at || cell->second.end <= at) return;
  Cell rest = cell->second;
  cell->second.end = at;
  cells_.emplace(at, std::move(rest));
}

}  // namespace plimsoll
