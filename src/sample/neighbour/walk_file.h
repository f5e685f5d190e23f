#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "io/scratch_file.h"
#include "memory/mapped_bytes.h"

namespace plimsoll {

/// Nodes of many walks in a scratch file: written a step of all walks after the other, and read a walk after
/// the other. T is u32 or i64. Not thread-safe.
template <typename T>
class WalkFile {
 public:
  /// Walks that are read together are a multiple of this.
  static constexpr int64_t kMinTogether = ScratchFile::kAlignment / static_cast<int64_t>(sizeof(T));

  /// Of so many walks of so many nodes each, in a folder; none where ScratchFile::make() gives none.
  static std::optional<WalkFile> make(const std::filesystem::path& folder, int64_t walks, int64_t places);
  /// Bytes (Tag::blocks) to read `together` walks at a time.
  static int64_t bytes_for(int64_t together, int64_t places) {
    return 2 * together * places * static_cast<int64_t>(sizeof(T));
  }

  /// Where all walks are at the next place; begin() first. Errors: BudgetExceeded, those of ScratchFile.
  void begin(int64_t walks);
  void add(std::span<const T> at);
  /// Calls use(nodes) for `together` walks at a time, [walks, places], in order. Errors: likewise.
  void read(int64_t together, const std::function<void(std::span<const T>)>& use);

 private:
  static int64_t row_bytes(int64_t walks);
  WalkFile(ScratchFile file, int64_t places) : file_(std::move(file)), places_(places) {}

  ScratchFile file_;
  int64_t places_;
  int64_t walks_ = 0;
  int64_t written_ = 0;  // places
};

}  // namespace plimsoll
