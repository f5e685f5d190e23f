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

/// Sorts more records than memory holds: a 64-bit key and a payload of fixed size each. What fits in `memory`
/// is sorted at once and written as a run, in one sequence; the runs are then merged. Records with the same
/// key stay in the order in which they were added, so what comes out does not depend on the memory. Keys
/// that fit in memory never touch the disk.
///
/// A run holds differences of keys, of as many bits as its keys have in use, so that a sorted list of edges
/// takes about the bytes on disk that its finished column does.
///
/// Memory stands under Tag::ingest. Not thread-safe. Errors of all: Failure (disk), BudgetExceeded,
/// InputError (a run that was taken and is damaged).
class ExternalSort {
 public:
  struct Options {
    std::filesystem::path folder;                       ///< for the runs; it must be there
    std::string name;                                   ///< of this sort among those of the folder
    size_t payload = 0;                                 ///< bytes a record
    int64_t memory = 0;                                 ///< bytes for adding, and again for merging
    int64_t max = std::numeric_limits<int64_t>::max();  ///< records that can come, so that less is taken
    bool unique = false;  ///< of records with the same key the first is kept alone
    FileSystem* files = &FileSystem::disk();
  };
  class Reader;

  explicit ExternalSort(Options options);
  /// Removes the runs that remove() did not.
  ~ExternalSort();
  ExternalSort(const ExternalSort&) = delete;
  ExternalSort& operator=(const ExternalSort&) = delete;

  /// `payload` has as many bytes as the options say.
  void add(uint64_t key, const void* payload = nullptr) {
    if (count_ == capacity_) spill();
    keys_[count_] = key;
    if (options_.payload > 0) keep_payload(payload);
    ++count_;
  }
  /// Adds the records of a run that another sort wrote with the same payload, from byte `begin` of a file to
  /// its end. The file stays, and has to be there as long as the records are wanted.
  void take_run(const std::filesystem::path& path, int64_t begin);
  /// All has been added; memory that is not needed any more is given back.
  void seal();
  /// The records in order; after seal(), as often as wanted, each Reader for itself.
  Reader read() const;
  /// Gives all records, after seal(), as one run, piece by piece. Its bytes do not depend on the memory.
  void write_run(const std::function<void(std::span<const std::byte>)>& write) const;
  /// Deletes the runs, and gives the memory back. No Reader may be in use.
  void remove();

 private:
  struct Run {
    std::filesystem::path path;
    int low_bits = 32;
    int64_t begin = 0;   // of the records in the file
    bool taken = false;  // the file is another's
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
  size_t capacity_ = 0;  // records in memory
  size_t count_ = 0;
  Vector<uint64_t, Tag::ingest> keys_, keys_scratch_;
  Vector<uint32_t, Tag::ingest> order_, order_scratch_;  // with payloads alone
  Vector<std::byte, Tag::ingest> payloads_;
  std::deque<Run> runs_;
  int64_t named_ = 0;
};

/// Gives the records of a sealed ExternalSort, which must outlive it. Not thread-safe.
class ExternalSort::Reader {
 public:
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) = delete;

  bool next();
  uint64_t key() const { return key_; }
  /// Valid until the next call of next().
  const std::byte* payload() const { return payload_; }

 private:
  friend class ExternalSort;
  Reader(const ExternalSort& sort, size_t first, size_t count);
  bool advance();
  void play(size_t run);

  const ExternalSort* sort_;
  size_t at_ = 0;  // in memory
  bool begun_ = false;
  uint64_t key_ = 0;
  const std::byte* payload_ = nullptr;
  std::vector<RunReader> readers_;
  std::vector<size_t> losers_;  // a tournament of the runs: who lost at each inner node; [0] the winner
};

}  // namespace plimsoll
