#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

/// A statement of a DBC: `BO_ 291 Engine: 8 ECU`.
struct DbcStatement {
  int64_t line = 0;          ///< Number of its first line, from 1.
  std::string_view keyword;  ///< "BO_"; empty if the line does not start with a keyword.
  std::string_view words;    ///< Text after the keyword.
  std::string_view whole;    ///< Its first line, for messages to the user.
  bool open_text = false;  ///< Its last text has no closing quote, so the statement ends with its first line.
};

/// Splits a DBC into statements. A statement may be indented, share its line with others or span several
/// lines. The text of a comment or an attribute may hold lines that look like statements, and quotes that
/// should have been escaped. A backslash before the closing quote is part of the text. Not thread-safe.
class DbcText {
 public:
  /// `text` must outlive it.
  explicit DbcText(std::string_view text) : text_(text) {}

  /// Reads the next statement. Returns false at the end.
  bool next(DbcStatement& statement);
  /// Extends the statement that next() returned last by the following lines, up to a line that is blank or
  /// starts another statement. Returns false if there are no such lines.
  bool extend(DbcStatement& statement);

 private:
  bool skip_to_words();
  void skip_symbols();
  bool begins_statement(size_t at) const;
  bool statement_follows(size_t at) const;
  size_t end_of_line(size_t at) const;
  size_t end_of_layout(size_t at) const;
  size_t end_of_sentence(size_t at, int long_text, bool& open) const;
  size_t end_of_long_text(size_t open) const;
  size_t end_of_short_text(size_t open) const;
  bool is_closed_by(size_t quote) const;

  std::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

/// Splits a statement into words, which are separated by blanks and line ends. Not thread-safe.
class DbcWords {
 public:
  explicit DbcWords(std::string_view words) : rest_(words) {}

  /// The next word, up to a blank or one of `ends`, which is not removed. Empty if there is none.
  std::string_view word(std::string_view ends = "");
  /// Skips this character if it is next; returns whether it was.
  bool skip(char c);
  /// The text before the first `end`, which is removed with it. All text if there is no `end`.
  std::string_view up_to(char end);
  /// The text between the next quote and the last one; none if there are not two quotes.
  std::optional<std::string_view> text();
  bool is_next(char c);
  bool is_empty();

 private:
  void skip_blanks();

  std::string_view rest_;
};

/// A text of a DBC in UTF-8, without its escapes (`\"`).
std::string dbc_text(std::string_view text);

}  // namespace plimsoll
