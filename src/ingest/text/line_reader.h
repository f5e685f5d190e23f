#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ingest/text/delimited.h"
#include "io/input_stream.h"
#include "memory/vector.h"

namespace plimsoll {

/// Reads the lines of a table. Errors name file, line and column. It holds one chunk of the text, and at
/// least one line. Not thread-safe.
class LineReader {
 public:
  /// `name` is used in error messages. Errors: BudgetExceeded.
  LineReader(std::unique_ptr<InputStream> stream, std::string name);

  /// Reads the next line, without its line end (LF or CR LF), into `line`, which is valid until the next
  /// call. Returns false at the end of the text. Blank lines may only occur at the end. Errors: InputError
  /// (another blank line, a line over 16 MiB, errors of the stream), BudgetExceeded.
  bool next(std::string_view& line);

  /// Reads the next line that is not blank and, unless `comments` is none, does not begin with # or %. Used
  /// for headers. Errors: those of next().
  bool next_row(std::string_view& line, Comments comments = Comments::leading);

  /// Number of the line that was read last, counted from 1; 0 before the first.
  int64_t line() const { return line_; }
  const std::string& name() const { return name_; }

  /// Calls cut_field() (delimited.h) for the current line. Errors: InputError for a bad quote.
  std::string_view field(std::string_view& rest, char separator) const;

  /// Parse a field of the current line. A whole number must be within min .. max; a real number must be
  /// finite in single precision. `what` describes the number, such as "a graph". Errors: InputError.
  int64_t whole(std::string_view field, int64_t min, int64_t max, const char* what) const;
  float real(std::string_view field, const char* what) const;

  /// Throws InputError with the text at `field` and what was expected. `field` must be a part of the current
  /// line, or a null view.
  [[noreturn]] void refuse(std::string_view field, const std::string& expected) const;
  /// Throws InputError for a text that ends too early.
  [[noreturn]] void refuse_end(const std::string& expected) const;

 private:
  bool next_raw(std::string_view& line);
  void fill();

  std::unique_ptr<InputStream> stream_;
  std::string name_;
  Vector<char, Tag::ingest> buffer_;
  size_t at_ = 0;      // Offset in buffer_ of the next line.
  size_t filled_ = 0;  // Bytes in buffer_.
  bool ended_ = false;
  int64_t line_ = 0;
  const char* begin_ = nullptr;  // Start of the current line.
};

/// Removes the first field, up to a comma, from `rest` and returns it without the blanks around it. `rest`
/// keeps the text after the comma. After the last field, it is a null view.
std::string_view take_comma_field(std::string_view& rest);

}  // namespace plimsoll
