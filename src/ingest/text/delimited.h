#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "memory/charge.h"

namespace plimsoll {

/// A table of edges or nodes as text: how its fields are separated and its columns are called.
struct Delimited {
  char separator = '\t';             ///< '\t', ',' or ' ' for runs of blanks
  bool header = false;               ///< the first line that is no comment names the columns
  std::vector<std::string> columns;  ///< the fields of the first line: names, where it is a header
  std::vector<std::string> second;   ///< the fields of the line after it; empty where there is none
  Charge charge{Tag::ingest};        ///< of both

  /// Looks at the first lines: a tab separates where there is one, else a comma, else blanks. Whether there
  /// is a header is left open. Errors: InputError (not there, no line, one over 16 MiB, text after a closing
  /// quote), BudgetExceeded.
  static Delimited open(const std::filesystem::path& path);

  /// Which column `name` is: one of the header, or a number from 0. Errors: UsageError that names the
  /// columns.
  size_t column(const std::string& name, const std::filesystem::path& path) const;
};

/// A quote that does not close, or that something else than a comma follows: what is found there.
struct BadQuote {
  static constexpr const char* kExpected = "a quote around all of the field";
  std::string_view found;
};

/// Cuts the first field off `rest`, without the blanks around it or, between commas, the quotes. `rest` is a
/// null view after the last field. Quotes within quotes stay doubled. Throws BadQuote; LineReader::field()
/// has the place as well.
std::string_view cut_field(std::string_view& rest, char separator);

/// Whether a line is to be passed over: empty, or a comment that begins with # or %.
bool is_comment(std::string_view line);

/// Whether a field is a whole number, be it negative.
bool is_number(std::string_view field);

}  // namespace plimsoll
