#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "base/mutex.h"
#include "io/scratch_file.h"
#include "memory/mapped_bytes.h"
#include "sample/neighbour/block_samples.h"

namespace plimsoll {

/// Samples of blocks in a scratch file, in the order in which they are added. A run that samples many blocks
/// at a time needs its topology in memory only during that time, and can use all memory for rows afterwards.
/// The index of the samples is also in the file, so it needs memory only while it is written. After finish()
/// any number of threads may read it.
class SampleFile {
 public:
  /// Bytes (Tag::cache) of the write buffer.
  static constexpr int64_t kBuffer = 512 * 1024;
  static constexpr int64_t kPage = ScratchFile::kAlignment;

  /// Returns the size of a file for `samples` samples with `bytes` bytes in total.
  static int64_t file_bytes_for(int64_t samples, int64_t bytes);
  /// `max_samples` is the capacity. Errors: Failure if the file has no space for the index.
  SampleFile(ScratchFile file, int64_t max_samples);

  /// Drops all samples and allocates write buffers (kBuffer + kPage), which are held until finish(). Errors:
  /// BudgetExceeded.
  void begin();
  /// Adds a sample written by BlockSample::write(). Returns false, with nothing changed, if the file is full.
  /// Errors: those of ScratchFile.
  bool add(int64_t number, std::span<const std::byte> sample);
  /// Writes buffered data and frees the buffers. Errors: those of ScratchFile.
  void finish();

  bool has(int64_t number) const { return range_of(number) != nullptr; }
  /// Returns the end of the range of consecutive added numbers that contains `number`, or `number` itself if
  /// it was not added.
  int64_t end_of(int64_t number) const;

  int64_t file_bytes() const { return file_.bytes(); }
  /// Bytes written since the file was made.
  int64_t bytes_written() const { return written_; }
  int64_t bytes_read() const { return read_; }

 private:
  friend class KeptSamples;
  // Samples with consecutive numbers.
  struct Range {
    int64_t first = 0;
    int64_t end = 0;
    int64_t at = 0;  // Index of the first sample of the range among all samples.
  };
  // A part of the file that is written from start to end.
  struct Part {
    int64_t at = 0;  // File offset of the buffered bytes.
    int64_t waits = 0;
    MappedBytes buffer = {};
  };
  const Range* range_of(int64_t number) const;
  void append(Part& part, std::span<const std::byte> bytes);
  void flush(Part& part);
  void read(int64_t offset, std::span<std::byte> to) const;

  ScratchFile file_;
  int64_t max_samples_;
  int64_t first_byte_;  // Offset of the first sample, after the index with its max_samples_ entries.
  std::vector<Range> ranges_;
  int64_t samples_ = 0;
  Part ends_;  // int64 [samples], the end offset of each sample.
  Part data_;
  int64_t written_ = 0;
  mutable std::atomic<int64_t> read_ = 0;
};

/// Reads samples of a file, which must outlive this object, several at a time. Any number of threads may call
/// it at once.
class KeptSamples final : public BlockSamples {
 public:
  /// `longest` is the size of the longest sample in bytes. Errors: BudgetExceeded.
  KeptSamples(const SampleFile& file, int64_t longest);
  /// Returns the bytes of memory (Tag::cache) that an object needs.
  static int64_t bytes_for(int64_t longest);
  /// Errors: those of ScratchFile, after which the object must not be used again; Failure for a number that
  /// is not in the file; BudgetExceeded.
  bool get(std::span<const int64_t> numbers, std::span<BlockSample> samples,
           const std::stop_token& stop) override;

 private:
  void read(int64_t number, BlockSample& sample) PLIMSOLL_REQUIRES(mutex_);
  int64_t end_of(int64_t sample) PLIMSOLL_REQUIRES(mutex_);

  const SampleFile& file_;
  Mutex mutex_;
  MappedBytes ends_ PLIMSOLL_GUARDED_BY(mutex_);  // One page of the index.
  int64_t page_ PLIMSOLL_GUARDED_BY(mutex_) = -1;
  MappedBytes data_ PLIMSOLL_GUARDED_BY(mutex_);
  int64_t begin_ PLIMSOLL_GUARDED_BY(mutex_) = 0;  // Start of the range of the file that is in data_.
  int64_t end_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll
