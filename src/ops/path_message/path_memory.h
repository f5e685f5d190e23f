#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll {

/// The sizes that determine the memory of one call of path_message (path_message.h).
struct PathSizes {
  int64_t nodes = 0;
  int64_t hidden = 0;                               ///< H
  int64_t distances = 0, angles = 0, torsions = 0;  ///< Numbers of Gaussians.
  int64_t tile = 0;                                 ///< Maximum number of paths in memory at once.
  bool shared = false;  ///< Whether paths that differ only in k share the terms that do not depend on k.

  /// Returns the maximum number of nodes whose products are in memory at once.
  int64_t slots() const { return tile < 128 ? 128 : tile; }
  /// Returns the maximum number of sources whose sums are in memory at once.
  int64_t window() const { return 2 * tile; }
  /// Returns the distance between columns of Gaussians, in numbers. It is padded so that columns do not share
  /// a few sets of the cache.
  int64_t step() const { return tile + 16; }
  /// Returns the number of inputs of the MLP of edges (0), triples (1) and paths (2).
  int64_t inputs(int mlp) const { return distances + (mlp > 0 ? angles : 0) + (mlp > 1 ? torsions : 0); }
};

// Indices in PathWeights (path_message.h) of the weights of the MLPs of edges (0), triples (1) and paths (2),
// and of the three weights that combine them. The bias of a weight follows it.
constexpr size_t first_weight(int mlp) {
  return static_cast<size_t>(4 * mlp);
}
constexpr size_t second_weight(int mlp) {
  return static_cast<size_t>(4 * mlp + 2);
}
inline constexpr size_t kC1 = 12, kC2 = 14, kC3 = 16;

/// Divides one block of memory into arrays that start at multiples of 64 bytes. The block itself must be
/// aligned to 64 bytes. If it is null, all arrays are null, and bytes are only counted.
class PathPieces {
 public:
  explicit PathPieces(void* memory) : memory_(static_cast<std::byte*>(memory)) {}
  template <typename T>
  void take(T*& piece, int64_t numbers) {
    bytes_ = (bytes_ + 63) / 64 * 64;
    piece = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += numbers * static_cast<int64_t>(sizeof(T));
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  int64_t bytes_ = 0;
};

/// Returns the workspace of a call in bytes, for numbers of `number_bytes` bytes.
int64_t path_workspace(const PathSizes& sizes, bool backward, size_t number_bytes);

}  // namespace plimsoll
