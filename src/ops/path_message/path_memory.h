#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll {

/// The sizes that the memory of one call of path_message depends on (path_message.h).
struct PathSizes {
  int64_t nodes = 0;
  int64_t hidden = 0;                               ///< H
  int64_t distances = 0, angles = 0, torsions = 0;  ///< Numbers of Gaussians.
  int64_t tile = 0;                                 ///< Paths that are in memory at once.
  bool shared = false;  ///< Paths that differ only in k share the terms that do not depend on k.

  int64_t slots() const { return tile < 128 ? 128 : tile; }  ///< Nodes whose products are in memory at once.
  int64_t window() const { return 2 * tile; }                ///< Sources whose sums are in memory at once.
  /// Numbers between columns of Gaussians, so that columns do not fall into few sets of a cache.
  int64_t step() const { return tile + 16; }
  /// Inputs of the MLP of edges (0), triples (1) and paths (2).
  int64_t inputs(int mlp) const { return distances + (mlp > 0 ? angles : 0) + (mlp > 1 ? torsions : 0); }
};

// Weights by their index in PathWeights (path_message.h): those of the MLP of edges (0), triples (1) and
// paths (2), and the three that combine them. After each comes its bias.
constexpr size_t first_weight(int mlp) {
  return static_cast<size_t>(4 * mlp);
}
constexpr size_t second_weight(int mlp) {
  return static_cast<size_t>(4 * mlp + 2);
}
inline constexpr size_t kC1 = 12, kC2 = 14, kC3 = 16;

/// Hands out pieces of one block of memory, each aligned to 64 bytes. Without memory it counts only.
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

/// The workspace of a call in bytes, for numbers of `number_bytes` bytes.
int64_t path_workspace(const PathSizes& sizes, bool backward, size_t number_bytes);

}  // namespace plimsoll
