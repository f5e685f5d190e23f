#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "io/scratch_file.h"
#include "memory/mapped_bytes.h"
#include "memory/vector.h"
#include "sample/neighbour/block_samples.h"

namespace plimsoll {

/// Samples of blocks in a scratch file, in the order in which they are added. A run whose samples are made many
/// at a time needs its topology in memory only then, and all of its memory for rows afterwards. Once it is
/// written any number of threads may read it.
class SampleFile {
 public:
  /// Bytes (Tag::cache) in which samples wait to be written, and of each reader beside the longest sample.
  static constexpr int64_t kBuffer = 512 * 1024;

  /// `most_samples`: it has room for no more (8 bytes each, Tag::cache). Errors: BudgetExceeded.
  SampleFile(ScratchFile file, int64_t most_samples);

  /// Drops all samples, and takes a buffer to write.
  void begin();
  /// Adds a sample as BlockSample::write() has it. False: there is no room for it, and nothing changed. Errors:
  /// those of ScratchFile.
  bool add(int64_t number, std::span<const std::byte> sample);
  /// Writes what waits, and gives the buffer back.
  void finish();

  bool has(int64_t number) const { return find(number).has_value(); }
  /// The number after those that were added one after the other with `number`, which is among them.
  int64_t end_of(int64_t number) const;

  /// What it takes of the ledger between finish() and begin().
  static int64_t bytes_for(int64_t samples) { return samples * static_cast<int64_t>(sizeof(int64_t)); }
  int64_t bytes() const { return bytes_for(static_cast<int64_t>(ends_.capacity())); }
  int64_t file_bytes() const { return file_.bytes(); }
  /// So far.
  int64_t bytes_written() const { return written_; }
  int64_t bytes_read() const { return read_; }

 private:
  friend class KeptSamples;
  // Samples whose numbers follow each other.
  struct Range {
    int64_t first = 0;
    int64_t end = 0;
    size_t at = 0;  // of the first, in ends_
  };
  const Range* range_of(int64_t number) const;
  std::optional<size_t> find(int64_t number) const;
  int64_t begin_of(size_t at) const { return at == 0 ? 0 : ends_[at - 1]; }
  void write(int64_t bytes);

  ScratchFile file_;
  std::vector<Range> ranges_;
  Vector<int64_t, Tag::cache> ends_;  // of each sample
  MappedBytes buffer_;
  int64_t buffer_at_ = 0;  // where it goes
  int64_t written_ = 0;
  mutable std::atomic<int64_t> read_ = 0;
};

/// Reads samples of a file, which has to outlive it, in long pieces.
class KeptSamples final : public BlockSamples {
 public:
  /// `longest`: bytes of the longest sample. Errors: BudgetExceeded.
  KeptSamples(const SampleFile& file, int64_t longest);
  /// What it takes (Tag::cache).
  static int64_t bytes_for(int64_t longest);
  /// Errors: those of ScratchFile; Failure for a number that is not in the file.
  bool get(std::span<const int64_t> numbers, std::span<BlockSample> samples,
           const std::stop_token& stop) override;

 private:
  std::span<const std::byte> read(size_t at);

  const SampleFile& file_;
  MappedBytes buffer_;
  int64_t begin_ = 0;  // of what is in the buffer
  int64_t end_ = 0;
};

}  // namespace plimsoll
