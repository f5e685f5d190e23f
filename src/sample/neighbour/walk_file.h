#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "io/scratch_file.h"
#include "memory/mapped_bytes.h"

namespace plimsoll {

/// Nodes of many walks in a scratch file. They are written step by step for all walks, and read walk by walk.
/// T is u32 or i64. Not thread-safe.
template <typename T>
class WalkFile {
 public:
  /// The number of walks that are read together must be a multiple of this.
  static constexpr int64_t kMinTogether = ScratchFile::kAlignment / static_cast<int64_t>(sizeof(T));

  /// Makes a file in a folder for `walks` walks of `places` nodes. Returns nullopt if ScratchFile::make()
  /// returns nullopt.
  static std::optional<WalkFile> make(const std::filesystem::path& folder, int64_t walks, int64_t places);
  /// Returns the bytes (Tag::blocks) that read() needs for `together` walks at a time.
  static int64_t bytes_for(int64_t together, int64_t places) {
    return 2 * together * places * static_cast<int64_t>(sizeof(T));
  }

  /// Starts writing `walks` walks, at most as many as given to make(), in place of earlier ones.
  void begin(int64_t walks);
  /// Appends the next node of all walks: at[i] for walk i. Call it `places` times. Errors: BudgetExceeded,
  /// those of ScratchFile.
  void add(std::span<const T> at);
  /// Calls use(nodes) for `together` walks at a time, [walks, places], in order. The last call has the
  /// remaining walks. `together` must be a multiple of kMinTogether. Call it after add() for all places.
  /// Errors: BudgetExceeded, those of ScratchFile.
  void read(int64_t together, const std::function<void(std::span<const T>)>& use);

 private:
  static int64_t row_bytes(int64_t walks);
  WalkFile(ScratchFile file, int64_t places) : file_(std::move(file)), places_(places) {}

  ScratchFile file_;
  int64_t places_;
  int64_t walks_ = 0;
  int64_t written_ = 0;  // Number of steps written.
};

}  // namespace plimsoll
