#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "memory/charge.h"

namespace plimsoll {

/// The lines that begin with # or % and are comments: only those before the first row, all, or none.
enum class Comments : uint8_t { leading, all, none };
template <>
inline constexpr auto kWords<Comments> = std::to_array<std::string_view>({"leading", "all", "none"});

/// The format of a table of edges or nodes as text: the separator and the names of columns.
struct Delimited {
  char separator = '\t';             ///< '\t', ',', ';', '|', or ' ' for runs of blanks.
  bool header = false;               ///< Whether the first line that is not a comment names the columns.
  std::vector<std::string> columns;  ///< Fields of the first line: names, if it is a header.
  std::vector<std::string> second;   ///< Fields of the second line; empty if there is none.
  Charge charge{Tag::ingest};        ///< Memory of `columns` and `second`.

  /// Reads the first two lines and determines the separator: a tab if there is one, otherwise a comma,
  /// otherwise a semicolon or a bar if both lines have the same number of them and blanks do not divide the
  /// lines as well, otherwise blanks. Does not determine whether there is a header. Errors: InputError (no
  /// such file, no line, a line over 16 MiB, a bad quote, errors of the stream), Failure, BudgetExceeded.
  static Delimited open(const std::filesystem::path& path, Comments comments = Comments::leading);

  /// Returns the index of the column `name`, which is a name in the header or an index from 0. `path` is for
  /// the message. Errors: UsageError that names the columns.
  size_t column(const std::string& name, const std::filesystem::path& path) const;
};

/// Thrown for a quoted field that is not closed or not followed by a separator; `found` is the text at this
/// place. It is not an Error.
struct BadQuote {
  static constexpr const char* kExpected = "a quote around all of the field";
  std::string_view found;
};

/// Removes the first field from `rest` and returns it without the blanks around it and, unless fields are
/// separated by blanks or tabs, without quotes. After the last field, `rest` is a null view or, if fields are
/// separated by blanks, an empty one. Doubled quotes within quotes stay doubled. Throws BadQuote;
/// LineReader::field() adds the location.
std::string_view cut_field(std::string_view& rest, char separator);

/// Returns whether a line begins with # or %, after blanks.
bool is_comment(std::string_view line);

/// Returns whether a field is a whole number: digits, possibly after a sign.
bool is_number(std::string_view field);

/// Returns whether a field is a number in any notation, such as `-0.5` or `1e3`; false for `nan` and `inf`.
bool is_real(std::string_view field);

/// Returns the whole number from 0 to 2^53 that a field contains in a notation other than plain digits, such
/// as numpy.savetxt's `1.000000000000000000e+00`; otherwise nullopt.
std::optional<uint64_t> whole_real(std::string_view field);

/// Returns whether a field is a usual name for a column of IDs, such as `src` or `Node ID`.
bool is_id_name(std::string_view field);

/// Return whether a field is a usual name of the column of sources, such as `src`, or of the column of
/// targets.
bool is_source_name(std::string_view field);
bool is_target_name(std::string_view field);

}  // namespace plimsoll
