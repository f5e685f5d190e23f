#include "io/row_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace plimsoll {
namespace {

constexpr int64_t kPage = 4096;

}  // namespace

RowReader::RowReader(const std::filesystem::path& path, const RowLayout& layout, const Options& options)
    : layout_(layout),
      longest_gap_(options.longest_gap),
      longest_extent_(std::max(options.longest_piece, layout.row_bytes)),
      method_(options.way ? *options.way : choose_method(path)) {
  auto opened = open_method(path, method_, longest_extent_, options.buffer_bytes);
  if (!opened) {
    if (options.way || std::getenv("PLIMSOLL_READ") != nullptr)
      throw Failure(
          fmt::format("cannot read {} by {}: the kernel or the file system refuses it; unset PLIMSOLL_READ",
                      path.string(), method_name(method_)));
  }
  // The method chosen for this device may be forbidden to this thread.
  for (const ReadMethod method : {ReadMethod::pool_direct, ReadMethod::pool})
    if (!opened) opened = open_method(path, method_ = method, longest_extent_, options.buffer_bytes);
  opened_ = std::move(*opened);
  if (layout.file && opened_.file->identity != *layout.file)
    throw InputError(path.string() + ": has been replaced since its data set was opened; start again");
  const int64_t bytes = layout.rows > 0 ? layout.end_of(layout.rows - 1) : layout.offset;
  if (opened_.file->bytes < bytes)
    throw InputError(fmt::format("{}: {} bytes, expected {} for {} rows of {} bytes from byte {} on",
                                 path.string(), opened_.file->bytes, bytes, layout.rows, layout.row_bytes,
                                 layout.offset));
}

RowReader::RowReader(const std::filesystem::path& path, const RowLayout& layout)
    : RowReader(path, layout, Options{}) {}

void RowReader::require(int64_t row) const {
  if (row < 0 || row >= layout_.rows)
    throw InputError(fmt::format("{}: row {} was requested from a file with {} rows, counted from 0",
                                 opened_.file->file.path(), row, layout_.rows));
}

// Sets the extent of the rows from wanted[extent.last] on.
bool RowReader::next(std::span<const WantedRow> wanted, Extent& extent) const {
  const int64_t sector = opened_.file->alignment;
  const auto begin_of = [&](const WantedRow& wanted_row) {
    return (layout_.offset + wanted_row.row * layout_.row_bytes) / sector * sector;
  };
  const auto end_of = [&](const WantedRow& wanted_row) {
    return (layout_.end_of(wanted_row.row) + sector - 1) / sector * sector;
  };
  const auto first = static_cast<size_t>(extent.last);
  if (first == wanted.size()) return false;
  const int64_t begin = begin_of(wanted[first]);
  int64_t end = end_of(wanted[first]);
  size_t last = first + 1;
  for (; last < wanted.size(); ++last) {
    const int64_t longer = end_of(wanted[last]);
    if (longer == end) continue;
    if (begin_of(wanted[last]) - end > longest_gap_ || longer - begin > longest_extent_) break;
    end = longer;
  }
  const bool is_long = end - begin >= kLongExtent;
  const int64_t first_byte = is_long ? begin / kPage * kPage : begin;
  if (is_long) end = (end + kPage - 1) / kPage * kPage;
  const int64_t needed = layout_.end_of(wanted[last - 1].row) - first_byte;
  extent = {first_byte, end - first_byte, needed, static_cast<int64_t>(first), static_cast<int64_t>(last)};
  return true;
}

void RowReader::read(std::span<WantedRow> wanted) {
  read(wanted, [this](const WantedRow& row, const std::byte* data) {
    std::memcpy(row.data, data, static_cast<size_t>(layout_.bytes_of(row.row)));
  });
}

void RowReader::read(std::span<WantedRow> wanted, const Use& use) {
  if (wanted.empty()) return;
  std::sort(wanted.begin(), wanted.end(),
            [](const WantedRow& a, const WantedRow& b) { return a.row < b.row; });
  require(wanted.front().row);
  require(wanted.back().row);
  Extent at;
  const auto next_extent = [&](Extent& extent) {
    if (!next(wanted, at)) return false;
    extent = at;
    ++counts_.reads;
    counts_.bytes_read += at.bytes;
    for (int64_t i = at.first; i < at.last; ++i) {
      const auto here = static_cast<size_t>(i);
      if (i == at.first || wanted[here].row != wanted[here - 1].row)
        counts_.bytes_wanted += layout_.bytes_of(wanted[here].row);
    }
    return true;
  };
  const auto use_rows = [&](const Extent& extent, const std::byte* data) {
    for (const WantedRow& row :
         wanted.subspan(static_cast<size_t>(extent.first), static_cast<size_t>(extent.last - extent.first)))
      use(row, data + (layout_.offset + row.row * layout_.row_bytes - extent.offset));
  };
  opened_.reader->read(next_extent, use_rows);
}

}  // namespace plimsoll
