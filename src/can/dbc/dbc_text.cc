#include "can/dbc/dbc_text.h"

#include <algorithm>
#include <array>

#include "ingest/text/windows_1252.h"

namespace plimsoll {
namespace {

// Keywords of DBC files (Vector, "DBC File Format Documentation" 1.0) and those that CANdb++ added.
constexpr std::array<std::string_view, 35> kKeywords = {"VERSION",
                                                        "NS_",
                                                        "BS_",
                                                        "BU_",
                                                        "BO_",
                                                        "SG_",
                                                        "CM_",
                                                        "BA_DEF_",
                                                        "BA_DEF_DEF_",
                                                        "BA_",
                                                        "VAL_",
                                                        "VAL_TABLE_",
                                                        "SIG_VALTYPE_",
                                                        "SG_MUL_VAL_",
                                                        "BO_TX_BU_",
                                                        "SIG_GROUP_",
                                                        "EV_",
                                                        "EV_DATA_",
                                                        "ENVVAR_DATA_",
                                                        "SGTYPE_",
                                                        "SGTYPE_VAL_",
                                                        "SIG_TYPE_REF_",
                                                        "SIGTYPE_VALTYPE_",
                                                        "BA_DEF_SGTYPE_",
                                                        "BA_SGTYPE_",
                                                        "BA_DEF_REL_",
                                                        "BA_REL_",
                                                        "BA_DEF_DEF_REL_",
                                                        "BU_SG_REL_",
                                                        "BU_EV_REL_",
                                                        "BU_BO_REL_",
                                                        "CAT_DEF_",
                                                        "CAT_",
                                                        "FILTER",
                                                        "NS_DESC_"};

// Maximum quotes within a text. A text without an end must not cause a search of the whole file.
constexpr int kMaxQuotes = 256;

// The index of the text in a statement that may have several lines, as comments and values of attributes may;
// -1 if there is no such text.
int long_text_of(std::string_view keyword) {
  return keyword == "CM_" ? 0 : keyword == "BA_" || keyword == "BA_DEF_DEF_" ? 1 : -1;
}

// Line ends count as blanks, and so does the end-of-file character of DOS.
bool is_blank_or_end(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || c == '\x1A';
}

bool is_word_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view word_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_word_character(text[end])) ++end;
  return text.substr(at, end - at);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank_or_end(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank_or_end(text.back())) text.remove_suffix(1);
  return text;
}

size_t after_blanks(std::string_view text, size_t at, std::string_view blanks = " \t\r") {
  return std::min(text.find_first_not_of(blanks, at), text.size());
}

}  // namespace

size_t DbcText::end_of_line(size_t at) const {
  return std::min(text_.find('\n', at), text_.size());
}

bool DbcText::begins_statement(size_t at) const {
  const std::string_view word = word_at(text_, at);
  return !word.empty() && std::ranges::find(kKeywords, word) != kKeywords.end();
}

// Whether the next word on later lines starts a statement, or no word follows.
bool DbcText::statement_follows(size_t at) const {
  const size_t words = after_blanks(text_, end_of_line(at), " \t\r\n");
  return words == text_.size() || begins_statement(words) || text_.substr(words, 2) == "//";
}

// Skips blanks, line ends and `//` comments, which cantools accepts as well.
bool DbcText::skip_to_words() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (is_blank_or_end(c) || c == ';')
      ++at_;
    else if (text_.substr(at_, 2) == "//")
      at_ = end_of_line(at_);
    else
      return true;
  }
  return false;
}

// Skips the lines after `NS_ :`, which hold one keyword each.
void DbcText::skip_symbols() {
  while (at_ < text_.size()) {
    const size_t end = end_of_line(at_);
    const size_t word = after_blanks(text_, at_, " \t\r:");
    if (word < end && after_blanks(text_, word + word_at(text_, word).size()) < end) return;
    at_ = std::min(end + 1, text_.size());
    line_ += end < text_.size();
  }
}

// The end of a statement about a message, a signal or nodes: the end of the line, or the place on it where
// another statement or a comment begins.
size_t DbcText::end_of_layout(size_t at) const {
  const size_t end = end_of_line(at);
  bool quoted = false;
  for (size_t i = at; i + 1 < end; ++i) {
    if (text_[i] == '"') quoted = !quoted;
    if (!quoted && text_.substr(i, 2) == "//") return i;
    if (quoted || !is_blank_or_end(text_[i]) || !begins_statement(i + 1)) continue;
    const std::string_view word = word_at(text_, i + 1);
    if (word.ends_with('_') && i + 1 + word.size() < end && is_blank_or_end(text_[i + 1 + word.size()]))
      return i;
  }
  return end;
}

// Whether a text of several lines may end with this quote: a `;` or another statement follows. A quote after
// a backslash is escaped, except at the end of a statement, as in the text "C:\temp\".
bool DbcText::is_closed_by(size_t quote) const {
  const size_t next = after_blanks(text_, quote + 1);
  const bool ends_line = next == text_.size() || text_[next] == '\n';
  if (text_[quote - 1] != '\\')
    return (next < text_.size() && text_[next] == ';') || (ends_line && statement_follows(quote));
  if (next == text_.size() || text_[next] != ';') return false;
  const size_t rest = after_blanks(text_, next + 1);
  return (rest == text_.size() || text_[rest] == '\n') && statement_follows(next);
}

// The place of the quote that closes a text; npos if there is none before another statement begins. A
// statement may begin within a text, unless a quote that is not escaped has shown that the text is malformed.
size_t DbcText::end_of_long_text(size_t open) const {
  size_t line = end_of_line(open);
  size_t quote = open;
  for (int quotes = 0; quotes < kMaxQuotes && (quote = text_.find('"', quote + 1)) < text_.size(); ++quotes) {
    if (is_closed_by(quote)) return quote;
    if (text_[quote - 1] == '\\') continue;
    for (; line < quote; line = end_of_line(line + 1))
      if (begins_statement(after_blanks(text_, line + 1))) return std::string_view::npos;
  }
  return std::string_view::npos;
}

// The place of the quote that closes a text of one line; npos if its line has none.
size_t DbcText::end_of_short_text(size_t open) const {
  const std::string_view line = text_.substr(0, end_of_line(open));
  size_t quote = line.find('"', open + 1);
  while (quote != std::string_view::npos && line[quote - 1] == '\\') quote = line.find('"', quote + 1);
  return quote;
}

// The place after the `;` of a statement. The text with the number `long_text` (from 0; -1: none) may have
// several lines and any quotes. A statement without a `;` ends before the next one.
size_t DbcText::end_of_sentence(size_t at, int long_text, bool& open) const {
  int texts = 0;
  for (size_t i = at; i < text_.size(); ++i) {
    if (text_[i] == ';') return i + 1;
    if (text_[i] == '\n') {
      const size_t words = after_blanks(text_, i, " \t\r\n");
      if (words == text_.size() || begins_statement(words)) return i;
      i = words - 1;
    } else if (text_[i] == '"') {
      const size_t end = texts++ == long_text ? end_of_long_text(i) : end_of_short_text(i);
      open = end == std::string_view::npos;
      if (open) return end_of_line(i);
      i = end;
    }
  }
  return text_.size();
}

bool DbcText::next(DbcStatement& statement) {
  if (!skip_to_words()) return false;
  const size_t begin = at_;
  const std::string_view keyword = begins_statement(begin) ? word_at(text_, begin) : std::string_view();
  statement = DbcStatement();
  statement.line = line_;
  statement.keyword = keyword;
  size_t end = end_of_line(begin);
  const size_t line_end = end;
  if (keyword == "BO_" || keyword == "SG_" || keyword == "BU_" || keyword == "BS_")
    end = end_of_layout(begin + keyword.size());
  else if (!keyword.empty() && keyword != "NS_" && keyword != "VERSION")
    end = end_of_sentence(begin + keyword.size(), long_text_of(keyword), statement.open_text);
  statement.words = text_.substr(begin + keyword.size(), end - begin - keyword.size());
  statement.whole = text_.substr(begin, std::min(end, line_end) - begin);
  line_ += std::ranges::count(text_.substr(begin, end - begin), '\n');
  at_ = end;
  if (keyword == "NS_") skip_symbols();
  return true;
}

bool DbcText::extend(DbcStatement& statement) {
  size_t end = at_;
  if (end != end_of_line(end)) return false;
  for (size_t line = end + 1; line < text_.size(); line = end + 1) {
    const size_t words = after_blanks(text_, line);
    if (words == text_.size() || text_[words] == '\n' || begins_statement(words)) break;
    end = end_of_line(line);
  }
  if (end == at_) return false;
  line_ += std::ranges::count(text_.substr(at_, end - at_), '\n');
  const auto words = static_cast<size_t>(statement.words.data() - text_.data());
  statement.words = text_.substr(words, end - words);
  at_ = end;
  return true;
}

void DbcWords::skip_blanks() {
  while (!rest_.empty() && is_blank_or_end(rest_.front())) rest_.remove_prefix(1);
}

bool DbcWords::is_empty() {
  skip_blanks();
  return rest_.empty();
}

std::string_view DbcWords::word(std::string_view ends) {
  skip_blanks();
  size_t size = 0;
  while (size < rest_.size() && !is_blank_or_end(rest_[size]) &&
         ends.find(rest_[size]) == std::string_view::npos)
    ++size;
  const std::string_view word = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return word;
}

bool DbcWords::is_next(char c) {
  skip_blanks();
  return rest_.starts_with(c);
}

bool DbcWords::skip(char c) {
  if (!is_next(c)) return false;
  rest_.remove_prefix(1);
  return true;
}

std::string_view DbcWords::up_to(char end) {
  const size_t at = std::min(rest_.find(end), rest_.size());
  const std::string_view part = rest_.substr(0, at);
  rest_.remove_prefix(std::min(at + 1, rest_.size()));
  return trimmed(part);
}

std::optional<std::string_view> DbcWords::text() {
  const size_t open = rest_.find('"');
  const size_t close = rest_.rfind('"');
  if (open == close) return std::nullopt;
  const std::string_view text = rest_.substr(open + 1, close - open - 1);
  rest_.remove_prefix(close + 1);
  return text;
}

std::string dbc_text(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\\' || i + 1 == text.size() || text[i + 1] != '"') plain += text[i];
  return utf8_of(plain);
}

}  // namespace plimsoll
