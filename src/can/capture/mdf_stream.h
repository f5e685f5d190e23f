#pragma once

#include <limits>
#include <vector>

#include "can/capture/byte_window.h"
#include "can/capture/mdf_file.h"
#include "io/inflater.h"
#include "io/scratch_file.h"
#include "io/whole_deflate.h"

namespace plimsoll {

/// The bytes of the records to which an MDF data link leads: one block, or all blocks in lists, inflated and
/// transposed back to rows. Uses 128 KiB plus the size of a packed block up to 4 MiB; a larger transposed
/// block is stored in a scratch file in the folder for temporary files. Not thread-safe. Errors: InputError,
/// BudgetExceeded, and Failure if the scratch file cannot be used.
class MdfStream {
 public:
  /// `kind` is DT, or SD for texts of variable length. A link of 0 leads to nothing. `last_block` is defined
  /// at MdfDataGroup.
  MdfStream(const MdfFile& file, uint64_t link, std::string_view kind, uint64_t last_block);

  /// Reads some of the next bytes and returns their number; 0 at the end.
  size_t read(char* data, size_t bytes);
  /// The place of the block that the last bytes came from.
  uint64_t block() const { return block_; }
  /// Number of bytes that read() returned so far.
  int64_t given() const { return given_; }
  /// Whether the file ends before the data. Known at the end.
  bool is_cut_off() const { return cut_off_; }
  /// Number of data bytes before the trailing zeros of a file that is not finalised. Known once their block
  /// is reached.
  uint64_t zeros_from() const { return zeros_from_; }

 private:
  bool open_list(uint64_t at);
  bool next_block();
  uint64_t next_link();
  void open_plain(const MdfBlock& block);
  void open_packed(const MdfBlock& block, bool is_whole);
  bool end_early();
  void untranspose(uint64_t columns);
  bool inflate_whole();
  size_t inflate(char* data, size_t bytes);
  size_t gather(char* data, size_t bytes);
  void gather_rows(char* data, uint64_t rows);
  void spend(const MdfBlock& block);

  const MdfFile& file_;
  std::string kind_;
  uint64_t last_block_;
  uint64_t next_ = 0;  // A block of data outside of lists.
  MdfBlock list_;      // The current list (DL block).
  size_t entry_ = 0;   // Index of its next entry.
  // Bytes of the file that were used. More than the file holds means that a block is used twice.
  uint64_t spent_ = 0;
  uint64_t block_ = 0;
  int64_t given_ = 0;
  bool cut_off_ = false;
  uint64_t zeros_from_ = std::numeric_limits<uint64_t>::max();

  std::span<const uint8_t> raw_;  // Bytes of the block that have not been returned or inflated yet.
  bool packed_ = false;
  WholeInflater whole_;
  Inflater inflater_{Inflater::Wrapper::zlib};
  bool ended_ = false;     // The zlib data have ended.
  uint64_t unpacked_ = 0;  // Bytes left of the unpacked block.

  Vector<uint8_t, Tag::ingest> held_;  // A block that was inflated at once.

  // State of a transposed block.
  uint64_t columns_ = 0;  // 0 if the block is not transposed.
  uint64_t rows_ = 0;
  uint64_t total_ = 0;
  uint64_t at_ = 0;
  std::optional<ScratchFile> scratch_;  // Replaces held_ for large blocks.
  Vector<uint8_t, Tag::ingest> page_;   // Some rows of all columns of scratch_.
  uint64_t page_first_ = 0;             // First row in page_.
  uint64_t page_rows_ = 0;
};

}  // namespace plimsoll
