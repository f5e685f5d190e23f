#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "io/file.h"

namespace plimsoll {

/// A block of an MDF 4 file: a header, links to other blocks, data. A view of the file.
struct MdfBlock {
  uint64_t at = 0;
  std::string_view id;  ///< "##DG" and so on
  std::span<const uint8_t> links;
  std::span<const uint8_t> data;

  static constexpr uint64_t kHeader = 24;  ///< bytes before the links: id, length, number of links

  size_t link_count() const { return links.size() / 8; }
  /// 0 where there is no such link, or it leads nowhere.
  uint64_t link(size_t index) const;
  /// Of the file.
  uint64_t bytes() const { return kHeader + links.size() + data.size(); }
};

/// A block of which the file has no more than its beginning, or nothing.
struct MdfEnd : InputError {
  using InputError::InputError;
};

/// An MDF 4 file (ASAM MDF 4.1 and 4.2), mapped: blocks are checked when they are asked for. Errors:
/// InputError with file and byte. Thread-safe.
class MdfFile {
 public:
  explicit MdfFile(const std::filesystem::path& path);

  /// Errors: MdfEnd, too.
  MdfBlock block(uint64_t at) const;
  /// A block of data, of which the file may end before the end: `is_whole` says. None where it ends before
  /// the header does.
  std::optional<MdfBlock> data_block(uint64_t at, bool& is_whole) const;
  /// Of this kind, "##CN".
  MdfBlock block(uint64_t at, std::string_view id) const;
  /// Text of a TX block; empty for 0.
  std::string text(uint64_t at) const;
  [[noreturn]] void refuse(uint64_t at, const std::string& found, const std::string& expected) const;
  /// Where the zeros begin in which a file ends that is not finalised; else its end.
  uint64_t last_zeros() const { return last_zeros_; }

  const MappedFile& mapped() const { return file_; }
  std::span<const uint8_t> bytes() const;
  int64_t start_ns() const { return start_ns_; }
  uint64_t first_data_group() const { return first_data_group_; }
  /// What whoever wrote the file did not do at its end (id_unfin_flags); 0: nothing.
  uint16_t left_undone() const { return left_undone_; }
  static constexpr uint16_t kLastLength = 4;    ///< the length of the last DT block
  static constexpr uint16_t kVlsdOffsets = 64;  ///< the offsets of texts of variable length

 private:
  MappedFile file_;
  int64_t start_ns_ = 0;
  uint64_t first_data_group_ = 0;
  uint16_t left_undone_ = 0;
  uint64_t last_zeros_ = 0;
};

}  // namespace plimsoll
