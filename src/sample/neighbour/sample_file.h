#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

#include "io/scratch_file.h"
#include "memory/mapped_bytes.h"
#include "sample/neighbour/block_samples.h"

namespace plimsoll {

/// Samples of blocks in a scratch file, in the order in which they are added. A run whose samples are made
/// many at a time needs its topology in memory only then, and all of its memory for rows afterwards. Where
/// they stand is in the file, too: it takes no memory but while it is written. Once that is done any number
/// of threads may read it.
class SampleFile {
 public:
  /// Bytes (Tag::cache) in which samples wait to be written.
  static constexpr int64_t kBuffer = 512 * 1024;
  static constexpr int64_t kPage = ScratchFile::kAlignment;

  /// Bytes of a file with room for `samples` samples of `bytes` bytes together.
  static int64_t file_bytes_for(int64_t samples, int64_t bytes);
  /// `max_samples`: it has room for no more. Errors: Failure (a file that has no room to say where they
  /// are).
  SampleFile(ScratchFile file, int64_t max_samples);

  /// Drops all samples, and takes buffers to write (kBuffer + kPage). Errors: BudgetExceeded.
  void begin();
  /// Adds a sample as BlockSample::write() has it. False: there is no room for it, and nothing changed.
  /// Errors: those of ScratchFile.
  bool add(int64_t number, std::span<const std::byte> sample);
  /// Writes what waits, and gives the buffers back.
  void finish();

  bool has(int64_t number) const { return range_of(number) != nullptr; }
  /// The number after those that were added one after the other with `number`; `number` if it was not.
  int64_t end_of(int64_t number) const;

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
    int64_t at = 0;  // the place of the first among all
  };
  // A part of the file that is written from start to end.
  struct Part {
    int64_t at = 0;  // what waits, in the file
    int64_t waits = 0;
    MappedBytes buffer = {};
  };
  const Range* range_of(int64_t number) const;
  void append(Part& part, std::span<const std::byte> bytes);
  void flush(Part& part);
  void read(int64_t offset, std::span<std::byte> to) const;

  ScratchFile file_;
  int64_t max_samples_;
  int64_t first_byte_;  // of samples, after the ends of all that there may be
  std::vector<Range> ranges_;
  int64_t samples_ = 0;
  Part ends_;  // int64 [samples]: where each ends
  Part data_;
  int64_t written_ = 0;
  mutable std::atomic<int64_t> read_ = 0;
};

/// Reads samples of a file, which has to outlive it, in pieces of several. Any number of threads may call it
/// at once.
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
  void read(int64_t number, BlockSample& sample);
  int64_t end_of(int64_t sample);

  const SampleFile& file_;
  std::mutex mutex_;  // guards what follows
  MappedBytes ends_;  // a page of them
  int64_t page_ = -1;
  MappedBytes data_;
  int64_t begin_ = 0;  // of what is in data_
  int64_t end_ = 0;
};

}  // namespace plimsoll
