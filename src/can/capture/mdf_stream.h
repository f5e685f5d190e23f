#pragma once

#include <limits>
#include <vector>

#include "can/capture/byte_window.h"
#include "can/capture/mdf_file.h"
#include "io/inflater.h"
#include "io/scratch_file.h"
#include "io/whole_deflate.h"

namespace plimsoll {

/// The bytes of records that a data link of MDF leads to: of one block, or of all that lists name, inflated
/// and put back into rows where they were transposed. Memory: 128 KiB, and the size of a packed block up to
/// 4 MiB; a larger transposed one goes through a scratch file. Not thread-safe. Errors: InputError,
/// BudgetExceeded.
class MdfStream {
 public:
  /// `kind`: DT, or SD for texts of variable length. 0 leads to nothing. `last_block`: the file has one
  /// there, so that no block before it goes on to the end of the file.
  MdfStream(const MdfFile& file, uint64_t link, std::string_view kind, uint64_t last_block);

  /// Some of the next bytes; 0 at the end.
  size_t read(char* data, size_t bytes);
  /// The block that the last bytes came from.
  uint64_t block() const { return block_; }
  int64_t given() const { return given_; }
  /// Whether the file ends before the data do; known at the end.
  bool is_cut_off() const { return cut_off_; }
  /// Bytes of the data before the zeros that a file ends in that is not finalised; known from their block on.
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
  uint64_t next_ = 0;   // a block of data outside of lists
  MdfBlock list_;       // DL
  size_t entry_ = 0;    // of it, the next one
  uint64_t spent_ = 0;  // bytes of the file: no block counts twice
  uint64_t block_ = 0;
  int64_t given_ = 0;
  bool cut_off_ = false;
  uint64_t zeros_from_ = std::numeric_limits<uint64_t>::max();

  std::span<const uint8_t> raw_;  // of the block: what is not given, or not inflated yet
  bool packed_ = false;
  WholeInflater whole_;
  Inflater inflater_{Inflater::Wrapper::zlib};
  bool ended_ = false;     // of the zlib data
  uint64_t unpacked_ = 0;  // bytes that are still to come of the block

  Vector<uint8_t, Tag::ingest> held_;  // a block inflated at once

  // Of a transposed block.
  uint64_t columns_ = 0;  // 0: is none
  uint64_t rows_ = 0;
  uint64_t total_ = 0;
  uint64_t at_ = 0;
  std::optional<ScratchFile> scratch_;  // in place of held_
  Vector<uint8_t, Tag::ingest> page_;   // of it: some rows of all columns
  uint64_t page_first_ = 0;             // rows that page_ has
  uint64_t page_rows_ = 0;
};

}  // namespace plimsoll
