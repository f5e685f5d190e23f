#include "ingest/graph/edge_parser.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/hash64.h"
#include "base/shown.h"
#include "base/workers.h"
#include "ingest/text/characters.h"
#include "ingest/text/unique_texts.h"
#include "io/input_stream.h"

namespace plimsoll {
namespace {

constexpr size_t kTextPiece = 256 << 10;
constexpr int64_t kBytesPerThread = kEdgeBytesPerThread;

// Thrown for an invalid field.
struct BadField {
  std::string_view field;
  std::string expected;
  bool is_padded = false;
};

std::string expected_id(std::string_view field) {
  if (is_number(field))
    return "a node ID from 0 to 9223372036854775807; negative IDs and hashes of 64 bits need --ids text";
  if (is_comment(field)) return "a node ID; comments after the first edge need --comments all";
  return "a node ID, a whole number from 0; IDs that are texts need --ids text";
}

// Parses an ID that is not 1 to 18 digits: a longer number, or a whole number in another notation.
uint64_t parse_odd_id(std::string_view field) {
  uint64_t id = 0;
  const auto [end, failed] = std::from_chars(field.data(), field.data() + field.size(), id);
  if (failed == std::errc() && end == field.data() + field.size() && id <= INT64_MAX) return id;
  if (const std::optional<uint64_t> whole = whole_real(field)) return *whole;
  throw BadField{field, expected_id(field)};
}

uint64_t parse_id(std::string_view field, const IdRules& rules) {
  uint64_t id = 0;
  bool digits = !field.empty() && field.size() <= 18;
  if (digits) {
    for (const char c : field) {
      digits &= is_digit(c);
      id = id * 10 + static_cast<uint64_t>(c - '0');
    }
  }
  if (!digits) id = parse_odd_id(field);
  if (rules.refuse_padded && field.size() > 1 && field.front() == '0' && is_number(field))
    throw BadField{field, "", true};
  if (id >= rules.limit)
    throw BadField{field, fmt::format("a node from 0 to {}{}", rules.limit - 1, rules.nodes)};
  return id;
}

float parse_value(std::string_view field) {
  double value = 0;
  const auto [end, failed] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (failed != std::errc() || end != field.data() + field.size() ||
      !(std::abs(value) <= std::numeric_limits<float>::max()))
    throw BadField{field, "a finite number of single precision"};
  return static_cast<float>(value);
}

class LineParser {
 public:
  LineParser(const EdgeText& text, size_t values, const IdRules& rules, EdgeBatch& out)
      : text_(text), rules_(rules), out_(out), row_(values) {
    for (size_t c = 0; c < text.role.size(); ++c)
      if (text.role[c] >= 0) needed_ = c + 1;
  }

  void parse(std::string_view line) {
    std::string_view rest = line;
    for (size_t c = 0; c < needed_; ++c) {
      if (rest.data() == nullptr || (text_.format.separator == ' ' && rest.empty()))
        throw BadField{line.substr(line.size()), fmt::format("{} fields, there are {}", needed_, c)};
      const std::string_view field = cut_field(rest, text_.format.separator);
      const int role = text_.role[c];
      if (role == 0 || role == 1)
        ends_[static_cast<size_t>(role)] = field;
      else if (role > 1)
        row_[static_cast<size_t>(role - 2)] = parse_value(field);
    }
    const uint64_t source = id(ends_[0]);
    const uint64_t target = id(ends_[1]);
    add(source, target);
    if (text_.matrix && text_.matrix->symmetric && source != target) add(target, source);
  }

 private:
  void add(uint64_t source, uint64_t target) {
    out_.source.push_back(source);
    out_.target.push_back(target);
    out_.values.insert(out_.values.end(), row_.begin(), row_.end());
  }
  // Rows and columns of a matrix are counted from 1.
  uint64_t matrix_id(std::string_view field) const {
    const auto nodes = static_cast<uint64_t>(text_.matrix->nodes);
    const uint64_t id = parse_id(field, {.limit = uint64_t{1} << 63}) - 1;
    if (id >= nodes)
      throw BadField{field,
                     fmt::format("a row or column from 1 to {}, as the size of the matrix says", nodes)};
    if (id >= rules_.limit)
      throw BadField{field, fmt::format("a node from 1 to {}{}", rules_.limit, rules_.nodes)};
    return id;
  }
  uint64_t id(std::string_view field) {
    uint64_t id = 0;
    if (text_.matrix) {
      id = matrix_id(field);
    } else if (rules_.texts) {
      if (field.empty() || field.size() > UniqueTexts::kLongest)
        throw BadField{field, UniqueTexts::kExpected};
      id = hash64(field, rules_.seed);
      out_.texts.insert(out_.texts.end(), field.begin(), field.end());
      out_.text_ends.push_back(static_cast<uint32_t>(out_.texts.size()));
    } else {
      id = parse_id(field, rules_);
    }
    if (rules_.unknown == id) throw BadField{field, "a node" + rules_.nodes};
    return id;
  }

  const EdgeText& text_;
  const IdRules& rules_;
  EdgeBatch& out_;
  std::vector<float> row_;
  std::array<std::string_view, 2> ends_;
  size_t needed_ = 0;
};

// A chunk of whole lines of the texts, in order.
struct Piece {
  Vector<char, Tag::ingest> buffer;
  size_t bytes = 0;
  size_t text = 0;
  bool first = false;  // Whether no row of its text comes before this chunk.
  int64_t bytes_read = 0;
  ParsedEdges parsed;
};

std::string_view take_line(std::string_view& lines) {
  const auto* const end = static_cast<const char*>(std::memchr(lines.data(), '\n', lines.size()));
  std::string_view line =
      lines.substr(0, end == nullptr ? lines.size() : static_cast<size_t>(end - lines.data()));
  lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Returns whether there is a line that is neither blank nor a comment.
bool has_row(std::string_view lines, Comments comments) {
  while (!lines.empty())
    if (const std::string_view line = take_line(lines);
        !trim(line).empty() && (comments == Comments::none || !is_comment(line)))
      return true;
  return false;
}

class Pieces {
 public:
  explicit Pieces(const std::vector<EdgeText>& texts) : texts_(texts) {}

  bool next(Piece& piece) {
    if (!stream_ && next_ == texts_.size()) return false;
    if (!stream_) {
      stream_ = InputStream::open(texts_[next_++].path);
      before_rows_ = true;
    }
    piece.first = before_rows_;
    piece.text = next_ - 1;
    piece.buffer.resize(kTextPiece);
    std::copy(carried_.begin(), carried_.end(), piece.buffer.begin());
    const size_t space = kTextPiece - carried_.size();
    const size_t got = stream_->read(piece.buffer.data() + carried_.size(), space);
    const std::string_view held(piece.buffer.data(), carried_.size() + got);
    const bool last = got < space;
    const size_t newline = held.rfind('\n');
    if (!last && newline == std::string_view::npos)
      throw InputError(fmt::format("{}: a line is longer than {} bytes: this is not a list of edges",
                                   texts_[piece.text].path.string(), kTextPiece));
    piece.bytes = last ? held.size() : newline + 1;
    if (before_rows_) before_rows_ = !has_row(held.substr(0, piece.bytes), texts_[piece.text].comments);
    carried_.assign(held.begin() + static_cast<std::ptrdiff_t>(piece.bytes), held.end());
    piece.bytes_read = done_ + stream_->bytes_read();
    if (last) {
      done_ = piece.bytes_read;
      stream_.reset();
    }
    return true;
  }

 private:
  const std::vector<EdgeText>& texts_;
  size_t next_ = 0;
  int64_t done_ = 0;  // File bytes of the previous texts.
  std::unique_ptr<InputStream> stream_;
  bool before_rows_ = true;            // Whether no row of the current text has been read.
  Vector<char, Tag::ingest> carried_;  // Beginning of a line whose end has not been read yet.
};

}  // namespace

void parse_edges(std::string_view lines, const EdgeText& text, bool first, size_t values,
                 const IdRules& rules, ParsedEdges& parsed) {
  parsed.edges.clear();
  parsed.lines = parsed.rows = 0;
  parsed.error.reset();
  bool header = first && text.format.header;
  bool leading = first;
  LineParser parser(text, values, rules, parsed.edges);
  while (!lines.empty()) {
    const std::string_view line = take_line(lines);
    ++parsed.lines;
    const bool plain = !line.empty() && is_digit(line.front());
    if (!plain && trim(line).empty()) continue;
    const bool may_be_comment =
        text.comments == Comments::all || (text.comments == Comments::leading && leading);
    if (!plain && may_be_comment && is_comment(line)) {
      ++parsed.edges.comments;
      continue;
    }
    leading = false;
    if (std::exchange(header, false)) continue;
    const auto refuse = [&](std::string_view found, std::string expected, bool is_padded) {
      const bool inside = found.data() >= line.data() && found.data() <= line.data() + line.size();
      parsed.error = {parsed.lines,
                      inside ? static_cast<size_t>(found.data() - line.data()) + 1 : line.size() + 1,
                      shown(found), std::move(expected), is_padded};
    };
    try {
      parser.parse(line);
      ++parsed.rows;
    } catch (const BadField& bad) {
      refuse(bad.field, bad.expected, bad.is_padded);
      return;
    } catch (const BadQuote& bad) {
      refuse(bad.found, BadQuote::kExpected, false);
      return;
    }
  }
}

void read_edge_texts(const std::vector<EdgeText>& texts, size_t values, const IdRules& rules, int threads,
                     const std::function<void(const EdgeBatch&, int64_t)>& take) {
  const Ledger& ledger = Ledger::process();
  const int64_t fit = (ledger.cap() - ledger.held()) / kBytesPerThread;
  Workers workers(static_cast<int>(std::clamp<int64_t>(fit, 1, threads)));
  Pieces pieces(texts);
  std::vector<Piece> slots(static_cast<size_t>(workers.threads()));
  size_t text = 0;
  int64_t lines = 0;  // Lines of the current text before the current chunk.
  int64_t rows = 0;   // Rows of the current text, including those of the current chunk.
  const auto end_text = [&] {
    if (text < texts.size() && texts[text].matrix && rows != texts[text].matrix->entries)
      throw InputError(fmt::format("{}: ends after {} entries, expected {}, as its sizes say; fetch it again",
                                   texts[text].path.string(), rows, texts[text].matrix->entries));
    rows = 0;
  };
  workers.run_stream(
      [&](int64_t, int worker) { return pieces.next(slots[static_cast<size_t>(worker)]); },
      [&](int64_t, Turn& turn) {
        Piece& piece = slots[static_cast<size_t>(turn.worker())];
        parse_edges({piece.buffer.data(), piece.bytes}, texts[piece.text], piece.first, values, rules,
                    piece.parsed);
        turn.wait();
        if (piece.text != text) {
          end_text();
          lines = 0;
        }
        text = piece.text;
        if (const auto& error = piece.parsed.error; error && error->is_padded)
          throw PaddedId(
              fmt::format("{}:{}:{}", texts[text].path.string(), lines + error->line, error->column),
              error->found);
        if (const auto& error = piece.parsed.error)
          throw InputError(fmt::format("{}:{}:{}: found '{}', expected {}; fix the line or leave it out",
                                       texts[text].path.string(), lines + error->line, error->column,
                                       error->found, error->expected));
        lines += piece.parsed.lines;
        rows += piece.parsed.rows;
        take(piece.parsed.edges, piece.bytes_read);
      });
  end_text();
}

}  // namespace plimsoll
