#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "telemetry/markup.h"

namespace plimsoll {

/// A page of headings, tables and charts: one HTML file that needs no other and no network, light or dark as
/// the reader has it, and fit for a phone and for paper. It has no scripts and is well-formed XML too. Texts
/// are escaped here. Not thread-safe.
class Report {
 public:
  /// Cells of a table; a heading that begins with '<' is that of a column of text, others are of numbers. A
  /// table whose headings are all "<" has none.
  struct Table {
    enum class Kind : uint8_t {
      plain,
      group,   ///< one cell, over the whole width: what the next rows have in common
      aside,   ///< set apart: figures of others
      chosen,  ///< in bold
    };
    struct Row {
      std::vector<std::string> cells;
      Kind kind = Kind::plain;
    };
    std::vector<std::string> headings;
    std::vector<Row> rows;
  };
  struct Figure {
    std::string title;
    Markup chart;  ///< as telemetry/chart.h makes it
    bool small = false;
  };

  Report(std::string title, std::string subtitle)
      : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

  /// A section, which the contents at the top name.
  void section(std::string_view title);
  void heading(std::string_view title);
  void paragraph(std::string_view text);
  void table(const Table& table);
  void figures(const std::vector<Figure>& figures);
  /// Starts, or ends, what is shown only when its summary is clicked; printed in any case.
  void begin_details(std::string_view summary);
  void end_details();
  void preformatted(std::string_view text);

  /// The whole file.
  Markup html() const;

 private:
  std::string title_;
  std::string subtitle_;
  std::vector<std::string> sections_;
  Markup body_;
};

}  // namespace plimsoll
