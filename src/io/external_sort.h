#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "io/file.h"
#include "memory/vector.h"

namespace plimsoll {

/// Sorts more records than fit into memory. A record has a 64-bit key and a payload of fixed size. Records
/// that fit into `memory` are sorted and written sequentially as a run; the runs are then merged. Records
/// with equal keys keep the order in which they were added, so the result does not depend on the memory. If
/// all records fit into memory, nothing is written to disk.
///
/// A run stores differences of keys, in only as many bits as they need, so a sorted list of edges needs about
/// as many bytes on disk as its finished column.
///
/// Memory is entered under Tag::ingest. Not thread-safe. Errors of all members: Failure (disk),
/// BudgetExceeded, InputError (a damaged run of another sort).
class ExternalSort {
 public:
  struct Options {
    std::filesystem::path folder;  ///< Folder for the runs, which must exist.
    std::string name;              ///< Name of this sort, unique in the folder.
    size_t payload = 0;            ///< Bytes per record.
    /// Bytes used while records are added, but at least 1,024 records are held. After seal(), merging and
    /// each Reader use up to as many, but at least a buffer for each run.
    int64_t memory = 0;
    /// Expected maximum number of records. A small one saves memory; more records may still be added.
    int64_t max = std::numeric_limits<int64_t>::max();
    bool unique = false;  ///< Whether to keep only the first of records with equal keys.
    FileSystem* files = &FileSystem::disk();
    /// Called for some of the records that seal() merges. May throw to stop.
    std::function<void()> tick = [] {};
  };
  class Reader;

  explicit ExternalSort(Options options);
  /// Deletes the runs unless remove() has deleted them.
  ~ExternalSort();
  ExternalSort(const ExternalSort&) = delete;
  ExternalSort& operator=(const ExternalSort&) = delete;

  /// Adds a record, before seal(). `payload` has as many bytes as the options specify.
  void add(uint64_t key, const void* payload = nullptr) {
    if (count_ == capacity_) spill();
    keys_[count_] = key;
    if (options_.payload > 0) keep_payload(payload);
    ++count_;
  }
  /// Adds the records of a run that write_run() of another sort with the same payload size wrote, from byte
  /// `begin` of a file to its end. The file is not removed and must exist as long as the records are read.
  void take_run(const std::filesystem::path& path, int64_t begin);
  /// Ends the adding of records and frees the memory that only adding needed. Merges runs until few enough
  /// are left to be read at once. Call it once.
  void seal();
  /// Returns a reader of the records in sorted order. Call it after seal(), any number of times. The readers
  /// are independent.
  Reader read() const;
  /// Writes all records as one run, passing it to `write` in parts. Call it after seal(). The bytes of the
  /// run do not depend on the memory.
  void write_run(const std::function<void(std::span<const std::byte>)>& write) const;
  /// Deletes the runs and frees the memory, after which there are no records to read. No Reader may be in
  /// use.
  void remove();

 private:
  struct Run {
    std::filesystem::path path;
    int low_bits = 32;
    int64_t begin = 0;   // Offset of the records in the file.
    bool taken = false;  // Whether the file belongs to another sort.
  };
  class RunWriter;
  class RunReader;

  void keep_payload(const void* payload);
  void allocate();
  void release();
  void sort();
  void spill();
  void merge(size_t first, size_t count);
  void remove_file(const Run& run) const;
  std::filesystem::path next_path();
  size_t run_buffer(size_t runs) const;

  Options options_;
  size_t capacity_ = 0;  // Maximum number of records in memory.
  size_t count_ = 0;
  Vector<uint64_t, Tag::ingest> keys_, keys_scratch_;
  Vector<uint32_t, Tag::ingest> order_, order_scratch_;  // Used only with payloads.
  Vector<std::byte, Tag::ingest> payloads_;
  std::deque<Run> runs_;
  int64_t named_ = 0;
};

/// Reads the records of a sealed ExternalSort, which must outlive it. Not thread-safe.
class ExternalSort::Reader {
 public:
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) = delete;

  /// Moves to the next record; call it before reading the first one. Returns false after the last record.
  bool next();
  uint64_t key() const { return key_; }
  /// The payload of the current record, valid until the next call of next().
  const std::byte* payload() const { return payload_; }

 private:
  friend class ExternalSort;
  Reader(const ExternalSort& sort, size_t first, size_t count);
  bool advance();
  void play(size_t run);

  const ExternalSort* sort_;
  size_t at_ = 0;  // Position in the records in memory.
  bool begun_ = false;
  uint64_t key_ = 0;
  const std::byte* payload_ = nullptr;
  std::vector<RunReader> readers_;
  // A tournament of the runs: the loser at each inner node, and the winner at [0].
  std::vector<size_t> losers_;
};

}  // namespace plimsoll
