#include "rows/batch_lists.h"

#include <optional>

namespace plimsoll {
namespace {

constexpr int64_t kListPage = ScratchFile::kAlignment;
constexpr int64_t kListRow = sizeof(uint16_t);
constexpr int kListsUnderWay = 32;

int64_t page_of(int64_t offset) {
  return offset / kListPage * kListPage;
}

// Returns the bytes of the pages that contain these rows.
int64_t bytes_of_pages(int64_t offset, int64_t rows) {
  if (rows == 0) return 0;
  return page_of(offset + rows * kListRow + kListPage - 1) - page_of(offset);
}

}  // namespace

int64_t BatchLists::list_bytes(int64_t rows) {
  return bytes_of_pages(0, rows);
}

int64_t BatchLists::memory_bytes(int64_t buffer_bytes, int64_t max_batches) {
  return buffer_bytes + max_batches * static_cast<int64_t>(sizeof(List) + sizeof(std::byte*));
}

BatchLists::BatchLists(ScratchFile& file, int64_t buffer_bytes, int64_t max_batches)
    : file_(file), buffer_(Tag::cache, buffer_bytes), ring_(Ring::make(kListsUnderWay)) {
  lists_.reserve(static_cast<size_t>(max_batches));
  to_.reserve(static_cast<size_t>(max_batches));
}

void BatchLists::clear() {
  lists_.clear();
  end_ = 0;
}

std::span<uint16_t> BatchLists::buffer() {
  return {reinterpret_cast<uint16_t*>(buffer_.data()), static_cast<size_t>(buffer_.size() / kListRow)};
}

void BatchLists::add(int64_t at, int64_t rows) {
  file_.write(at, {buffer_.data(), static_cast<size_t>(list_bytes(rows))});
  lists_.push_back({.next = at});
}

void BatchLists::fetch(int64_t range, std::span<const uint32_t> counts) {
  if (range < end_ || lists_.empty()) return;
  const auto ranges = static_cast<int64_t>(counts.size() / lists_.size());
  const auto count = [&](size_t list) {
    return counts[list * static_cast<size_t>(ranges) + static_cast<size_t>(end_)];
  };
  for (List& list : lists_) list.rows = 0;
  for (end_ = range; end_ < ranges; ++end_) {
    int64_t bytes = 0;
    for (size_t i = 0; i < lists_.size(); ++i)
      bytes += bytes_of_pages(lists_[i].next, lists_[i].rows + count(i));
    if (bytes > buffer_.size()) break;
    for (size_t i = 0; i < lists_.size(); ++i) lists_[i].rows += count(i);
  }
  one_by_one_ = end_ == range;
  if (one_by_one_)
    ++end_;
  else
    read_all();
}

std::span<const uint16_t> BatchLists::take(int64_t list, int64_t count) {
  List& from = lists_[static_cast<size_t>(list)];
  if (one_by_one_ && count > 0) {
    from.rows = count;
    read(list, buffer_.data());
  }
  const auto* const rows = reinterpret_cast<const uint16_t*>(from.at);
  from.at += count * kListRow;
  return {rows, static_cast<size_t>(count)};
}

// Reads the next rows of a list, and advances `next`.
void BatchLists::read(int64_t index, std::byte* to) {
  List& list = lists_[static_cast<size_t>(index)];
  const int64_t page = page_of(list.next);
  const int64_t bytes = bytes_of_pages(list.next, list.rows);
  file_.read(page, {to, static_cast<size_t>(bytes)});
  bytes_read_ += bytes;
  list.at = to + (list.next - page);
  list.next += list.rows * kListRow;
}

void BatchLists::read_all() {
  to_.clear();
  std::byte* to = buffer_.data();
  for (const List& list : lists_) {
    to_.push_back(to);
    to += bytes_of_pages(list.next, list.rows);
  }
  if (ring_ && read_with_ring()) return;
  for (size_t i = 0; i < lists_.size(); ++i)
    if (lists_[i].rows > 0) read(static_cast<int64_t>(i), to_[i]);
}

// Returns false if a read failed. The caller then reads all lists again, without the ring, which throws the
// reason.
bool BatchLists::read_with_ring() {
  int under_way = 0;
  bool complete = true;
  const auto wait = [&](int wait_for) {
    if (ring_->submit(wait_for) != 0) {
      ring_->settle();
      complete = false;
    }
    while (const std::optional<Ring::Done> done = ring_->next()) {
      const List& list = lists_[done->id];
      complete = complete && done->result == bytes_of_pages(list.next, list.rows);
      --under_way;
    }
  };
  for (size_t i = 0; i < lists_.size() && complete; ++i) {
    const List& list = lists_[i];
    if (list.rows == 0) continue;
    ring_->read(file_.descriptor(), page_of(list.next), to_[i], bytes_of_pages(list.next, list.rows), i);
    if (++under_way == kListsUnderWay) wait(1);
  }
  while (under_way > 0 && complete) wait(1);
  if (!complete) {
    ring_->settle();
    ring_.reset();  // Drops requests that the kernel did not take.
    return false;
  }
  for (size_t i = 0; i < lists_.size(); ++i) {
    List& list = lists_[i];
    bytes_read_ += bytes_of_pages(list.next, list.rows);
    list.at = to_[i] + (list.next - page_of(list.next));
    list.next += list.rows * kListRow;
  }
  return true;
}

}  // namespace plimsoll
