#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

/// A statement of a DBC: `BO_ 291 Engine: 8 ECU`.
struct DbcStatement {
  int64_t line = 0;          ///< number of its first line, from 1
  std::string_view keyword;  ///< "BO_"; empty if the line begins with none
  std::string_view words;    ///< what follows the keyword
  std::string_view whole;    ///< its first line, for messages
  bool open_text = false;    ///< its last text has no closing quote: the statement ends with its first line
};

/// Splits a DBC into statements. A statement may be indented, share its line with others, or take several
/// lines. The text of a comment or an attribute may hold lines that look like statements, and quotes that
/// should have been escaped; a backslash in front of the closing quote is part of the text. Not thread-safe.
class DbcText {
 public:
  /// `text` outlives it.
  explicit DbcText(std::string_view text) : text_(text) {}

  /// The next statement; false at the end.
  bool next(DbcStatement& statement);
  /// Adds the lines after this statement, which next() gave last, up to one that is blank or begins another
  /// statement; false if there are none.
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

/// Cuts the words of a statement, blanks and line ends between them. Not thread-safe.
class DbcWords {
 public:
  explicit DbcWords(std::string_view words) : rest_(words) {}

  /// The next word: up to a blank or one of `ends`, which stays. Empty if there is none.
  std::string_view word(std::string_view ends = "");
  /// Skips this character if it is next; returns whether it was.
  bool skip(char c);
  /// What is in front of the first `end`, which is cut off with it; everything if there is no `end`.
  std::string_view up_to(char end);
  /// What is between the next quote and the last one of the words; none if there are no two.
  std::optional<std::string_view> text();
  bool is_next(char c);
  bool is_empty();

 private:
  void skip_blanks();

  std::string_view rest_;
};

/// A text of a DBC without its escapes (`\"`), in UTF-8.
std::string dbc_text(std::string_view text);

}  // namespace plimsoll
