#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "telemetry/markup.h"

namespace plimsoll {

/// A page of headings, tables and charts: one HTML file that needs no other file and no network. It is light
/// or dark as the reader prefers, and suits phones and paper. It has no scripts and is also well-formed XML.
/// The functions here escape texts. Not thread-safe. Errors of all members: BudgetExceeded.
class Report {
 public:
  /// A table. A heading that begins with '<' marks a column of text; the other columns contain numbers. A
  /// table whose headings are all "<" has no heading row.
  struct Table {
    enum class Kind : uint8_t {
      plain,
      group,   ///< Its first cell over the whole width, as the heading of the following rows.
      aside,   ///< Shown separately, for published results of others.
      chosen,  ///< In bold.
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
    Markup chart;        ///< Made by telemetry/chart.h.
    bool small = false;  ///< Whether figures are narrow. The first figure decides for all of a call.
  };

  Report(std::string title, std::string subtitle)
      : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

  /// Starts a section. Sections are listed in the contents at the top.
  void section(std::string_view title);
  void heading(std::string_view title);
  void paragraph(std::string_view text);
  void table(const Table& table);
  void figures(const std::vector<Figure>& figures);
  /// Begin and end content that is shown only when its summary is clicked. On paper it is always included.
  void begin_details(std::string_view summary);
  void end_details();
  void preformatted(std::string_view text);

  /// Returns the whole file.
  Markup html() const;

 private:
  std::string title_;
  std::string subtitle_;
  std::vector<std::string> sections_;
  Markup body_;
};

}  // namespace plimsoll
