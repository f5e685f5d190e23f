#include "ingest/graph/matrix_market.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ingest/text/characters.h"
#include "ingest/text/line_reader.h"
#include "io/file_ending.h"

namespace plimsoll {
namespace {

constexpr std::string_view kBanner = "%%matrixmarket";
constexpr int64_t kMaxSize = int64_t{1} << 32;  // Maximum number of nodes of a graph.

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return result;
}

bool has_banner(const std::filesystem::path& path) {
  std::array<char, kBanner.size()> first{};
  const size_t got = InputStream::open(path)->read(first.data(), first.size());
  return lower({first.data(), got}) == kBanner;
}

// Reads the banner and returns whether the matrix is symmetric.
bool read_banner(std::string_view line, const LineReader& lines) {
  std::string_view rest = line;
  const auto require = [&](std::initializer_list<std::string_view> allowed, const char* expected) {
    const std::string_view word = take_word(rest);
    const std::string found = lower(word);
    if (std::find(allowed.begin(), allowed.end(), found) == allowed.end()) lines.refuse(word, expected);
    return found;
  };
  require({kBanner}, "%%MatrixMarket");
  require({"matrix"}, "a matrix");
  require({"coordinate"}, "a sparse matrix, `coordinate`: a dense one is not a list of edges");
  require({"pattern", "real", "integer", "double"}, "entries that are `pattern`, `real` or `integer`");
  return require({"general", "symmetric"}, "a matrix that is `general` or `symmetric`") == "symmetric";
}

}  // namespace

std::optional<MatrixMarket> read_matrix_market(const std::filesystem::path& path) {
  const std::filesystem::path text = is_compressed_name(path) ? path.stem() : path;
  if (!has_banner(path)) {
    if (lower_ending(text) == ".mtx")
      throw InputError(path.string() +
                       ":1: found no %%MatrixMarket banner, expected it because of the file's name; add it, "
                       "or rename the file");
    return std::nullopt;
  }
  LineReader lines(InputStream::open(path), path.string());
  std::string_view line;
  lines.next_row(line, Comments::none);
  MatrixMarket matrix{.symmetric = read_banner(line, lines)};
  if (!lines.next_row(line)) lines.refuse_end("a line with rows, columns and entries");
  std::array<int64_t, 3> sizes{};
  std::string_view rest = line;
  for (int64_t& size : sizes)
    size = lines.whole(cut_field(rest, ' '), 0, &size == &sizes[2] ? INT64_MAX : kMaxSize,
                       "a number of rows, columns or entries");
  if (sizes[0] != sizes[1])
    lines.refuse(
        line,
        "a square matrix, as for a graph; write the edges as text with different IDs for rows and columns");
  matrix.nodes = sizes[0];
  matrix.entries = sizes[2];
  return matrix;
}

}  // namespace plimsoll
