#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace plimsoll {

/// The first lines of a MatrixMarket file with one entry per line (Boisvert et al., NISTIR 5935, 1996): an
/// entry `i j [value]` is an edge from node i-1 to node j-1.
struct MatrixMarket {
  int64_t nodes = 0;
  int64_t entries = 0;
  bool symmetric = false;  ///< Whether an entry also stands for the edge from j to i.
};

/// Maximum number of nodes without edges that the size of a matrix may add unless --node-count is given: 1
/// GiB of row ends.
inline constexpr int64_t kMaxUnconfirmedNodes = int64_t{1} << 27;

/// Reads these lines; returns nullopt for a file that does not begin with `%%MatrixMarket`. Errors:
/// InputError with file and line for a matrix that is not a graph, such as one that is dense, complex or not
/// square, and for a file named .mtx without this beginning; Failure; BudgetExceeded.
std::optional<MatrixMarket> read_matrix_market(const std::filesystem::path& path);

}  // namespace plimsoll
