#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "io/input_stream.h"
#include "memory/vector.h"

namespace plimsoll {

/// The lines of a table of numbers, with errors that name file, line and column. It holds one piece of the
/// text and at least a line. Not thread-safe.
class LineReader {
 public:
  /// `name` is for the error texts.
  LineReader(std::unique_ptr<InputStream> stream, std::string name);

  /// The next line, without its end (LF or CR LF), valid until the next call; false at the end of the text.
  /// Blank lines may stand at the end alone. Errors: InputError (another blank line, one over 16 MiB, what
  /// the stream gives), BudgetExceeded.
  bool next(std::string_view& line);

  /// The next line that is neither blank nor a comment (delimited.h), such as a header. Errors: as of next().
  bool next_row(std::string_view& line);

  /// The number of the line that next() gave, from 1; 0 before it.
  int64_t line() const { return line_; }
  const std::string& name() const { return name_; }

  /// cut_field() (delimited.h) in the line that was given. Errors: InputError for a bad quote.
  std::string_view field(std::string_view& rest, char separator) const;

  /// Parse a field of the line that next() gave. Errors: InputError; `what` is what the number is, such as
  /// "a graph". A whole number must lie in least..most, a real one must be finite.
  int64_t whole(std::string_view field, int64_t min, int64_t max, const char* what) const;
  float real(std::string_view field, const char* what) const;

  /// Throws InputError: what was found in this line, at `field`, and what was expected instead.
  [[noreturn]] void refuse(std::string_view field, const std::string& expected) const;
  /// Throws InputError: the text ends here.
  [[noreturn]] void refuse_end(const std::string& expected) const;

 private:
  bool next_raw(std::string_view& line);
  void fill();

  std::unique_ptr<InputStream> stream_;
  std::string name_;
  Vector<char, Tag::ingest> buffer_;
  size_t at_ = 0;      // of the text held, up to where it was given out
  size_t filled_ = 0;  // bytes held
  bool ended_ = false;
  int64_t line_ = 0;
  const char* begin_ = nullptr;  // of the present line
};

/// Cuts the first field off `rest`, up to a comma, without the blanks around it. `rest` keeps what is after
/// the comma; it is a null view after the last field.
std::string_view take_comma_field(std::string_view& rest);

}  // namespace plimsoll
