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

/// Reads these lines; returns nullopt for a file that does not begin with `%%MatrixMarket`. Errors:
/// InputError with file and line for a matrix that is not a graph, such as one that is dense, complex or not
/// square, and for a file named .mtx without this beginning; Failure; BudgetExceeded.
std::optional<MatrixMarket> read_matrix_market(const std::filesystem::path& path);

}  // namespace plimsoll
