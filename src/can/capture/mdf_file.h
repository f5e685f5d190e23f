#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "io/file.h"

namespace plimsoll {

/// A block of an MDF 4 file: a header, links to other blocks, and data. A view of the file.
struct MdfBlock {
  uint64_t at = 0;
  std::string_view id;  ///< Kind of the block, such as "##DG".
  std::span<const uint8_t> links;
  std::span<const uint8_t> data;

  static constexpr uint64_t kHeader = 24;  ///< Bytes before the links: id, length, number of links.

  size_t link_count() const { return links.size() / 8; }
  /// The link at this index; 0 if there is no such link or it leads nowhere.
  uint64_t link(size_t index) const;
  /// Bytes of the block in the file.
  uint64_t bytes() const { return kHeader + links.size() + data.size(); }
};

/// Thrown for a block that the end of the file cuts off.
struct MdfEnd : InputError {
  using InputError::InputError;
};

/// A memory-mapped MDF 4 file (ASAM MDF 4.1 and 4.2). Blocks are checked when they are requested. All
/// functions throw InputError with file and byte. Thread-safe.
class MdfFile {
 public:
  explicit MdfFile(const std::filesystem::path& path);

  /// The block at this byte. Throws MdfEnd if the file ends within it.
  MdfBlock block(uint64_t at) const;
  /// A block of data, which the end of the file may cut off; `is_whole` receives whether it is complete. None
  /// if the file ends before or within the header or the links.
  std::optional<MdfBlock> data_block(uint64_t at, bool& is_whole) const;
  /// The block at this byte, which must be of this kind, such as "##CN".
  MdfBlock block(uint64_t at, std::string_view id) const;
  /// Text of the block at this byte, up to its first zero and at most 4,096 bytes; empty for 0. The kind of
  /// the block is not checked.
  std::string text(uint64_t at) const;
  /// Throws InputError with the text "FILE: byte N: found F, expected E".
  [[noreturn]] void refuse(uint64_t at, const std::string& found, const std::string& expected) const;
  /// The byte at which the trailing zeros start in a file that is not finalised; in other files, the end of
  /// the file.
  uint64_t last_zeros() const { return last_zeros_; }

  const MappedFile& mapped() const { return file_; }
  std::span<const uint8_t> bytes() const;
  /// Start of the measurement in nanoseconds since 1970.
  int64_t start_ns() const { return start_ns_; }
  /// Link to the first data group (DG block); 0 if there is none.
  uint64_t first_data_group() const { return first_data_group_; }
  /// Flags of the steps that the writer of the file left out when it finished (id_unfin_flags); 0 if the file
  /// is finalised.
  uint16_t left_undone() const { return left_undone_; }
  /// Bit of left_undone(): the length of the last DT block is not set.
  static constexpr uint16_t kLastLength = 4;
  /// Bit of left_undone(): the offsets of texts of variable length are not set.
  static constexpr uint16_t kVlsdOffsets = 64;

 private:
  MappedFile file_;
  int64_t start_ns_ = 0;
  uint64_t first_data_group_ = 0;
  uint16_t left_undone_ = 0;
  uint64_t last_zeros_ = 0;
};

}  // namespace plimsoll
