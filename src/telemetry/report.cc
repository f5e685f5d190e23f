#include "telemetry/report.h"

#include <algorithm>

#include "telemetry/chart.h"

namespace plimsoll {
namespace {

// Colours of data are those of Okabe and Ito (2008), lighter in dark mode.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --page: #fff; --text: #1c2329; --soft: #5b6770; --rule: #dfe4e8;
  --band: #f4f6f8; --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b0578d; --c4: #c98a00; --c5: #4a9fd4;
  --c6: #6b7680; }
@media (prefers-color-scheme: dark) { :root { --page: #14181c; --text: #e4e8eb; --soft: #9aa7b1;
  --rule: #333b42; --band: #1d2328; --c0: #4da6e0; --c1: #f08a4b; --c2: #3cc9a0; --c3: #e39cc6; --c4: #f0b93c;
  --c5: #9ad2f5; --c6: #a4afb8; } }
@media print { :root { --page: #fff; --text: #000; --soft: #444; --rule: #ccc; --band: #f4f6f8; --c0: #0072b2;
  --c1: #d55e00; --c2: #009e73; --c3: #b0578d; --c4: #c98a00; --c5: #4a9fd4; --c6: #6b7680; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 20px 64px; max-width: 1180px; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 44px 0 10px; padding-top: 12px; border-top: 1px solid var(--rule);
  overflow-wrap: anywhere; }
h3 { font-size: 15px; margin: 26px 0 8px; }
p { margin: 6px 0; max-width: 76ch; }
.sub, figcaption small { color: var(--soft); }
nav ul { list-style: none; padding: 0; margin: 14px 0 0; display: flex; flex-wrap: wrap; gap: 4px 18px; }
a { color: var(--c0); }
.wide { overflow-x: auto; margin: 10px 0; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 7px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; color: var(--soft); }
th:first-child, td:first-child { padding-left: 4px; }
@media (max-width: 640px) { th, td { white-space: normal; }
  th:first-child, td:first-child { min-width: 9em; overflow-wrap: anywhere; } }
.left { text-align: left; }
tr.group th { text-align: left; color: var(--text); background: var(--band); padding: 7px 4px; }
tr.chosen td { font-weight: 700; }
tr.aside td { color: var(--soft); font-style: italic; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 400px), 1fr)); gap: 22px 28px;
  margin: 12px 0; }
.figures.small { grid-template-columns: repeat(auto-fill, minmax(min(100%, 180px), 1fr)); }
figure { margin: 0; break-inside: avoid; min-width: 0; }
figcaption { font-weight: 600; font-size: 14px; margin-bottom: 4px; overflow-wrap: anywhere; }
svg { display: block; width: 100%; max-width: 500px; height: auto; font-size: 12px; fill: var(--text); }
svg.confusion { max-width: 230px; }
svg.sample { display: inline-block; width: 22px; height: 10px; flex: none; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 4px 0 0; padding: 0 0 0 4px;
  font-size: 13px; }
.legend li { display: flex; align-items: center; gap: 6px; }
.mid { text-anchor: middle; } .end { text-anchor: end; }
.tick { fill: var(--soft); } .label { font-weight: 500; } .count { font-size: 15px; font-weight: 600; }
.halo { paint-order: stroke; stroke: var(--page); stroke-width: 3px; }
.grid { stroke: var(--rule); stroke-width: 1; } .axis { stroke: var(--soft); stroke-width: 1; fill: none; }
.line { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; } .dashed { stroke-dasharray: 6 4; }
.branch { stroke-width: 1.6; } .faint { stroke-width: 1; stroke-opacity: .45; }
.area { fill: var(--c); fill-opacity: .35; stroke: var(--c); stroke-width: 1.2; }
.stacked { fill: var(--c); fill-opacity: .8; stroke: var(--page); stroke-width: .4; }
.strip { fill: transparent; } .strip:hover { fill: var(--text); fill-opacity: .15; }
.bar { fill: var(--c); stroke: var(--page); stroke-width: 1; } .cell { fill: var(--c); }
.flow { fill: var(--text); stroke: var(--text); } .flow path { fill: none; } .flow polygon { stroke: none; }
.level { stroke: var(--text); stroke-width: 1.2; stroke-dasharray: 3 3; }
.measured { stroke: var(--text); stroke-width: 3; }
.mark { stroke: var(--c); stroke-width: 2; } .filled { fill: var(--c); } .hollow { fill: var(--page); }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
.c4 { --c: var(--c4); } .c5 { --c: var(--c5); } .c6 { --c: var(--c6); }
details { margin: 12px 0; } summary { cursor: pointer; font-weight: 600; }
pre { overflow-x: auto; background: var(--band); padding: 12px; font-size: 13px; }
@media print { body { max-width: none; padding: 0; font-size: 12px; } nav { display: none; }
  details::details-content { content-visibility: visible; } .wide, pre { overflow: visible; } table { font-size: 10px; }
  th, td { padding: 2px 5px; } .figures { grid-template-columns: 1fr 1fr; }
  .figures.small { grid-template-columns: repeat(5, 1fr); } h2, h3 { break-after: avoid; } tr { break-inside: avoid; } }
)";

std::string cell(std::string_view tag, const std::string& text, bool left) {
  return fmt::format("<{}{}>{}</{}>", tag, left ? " class=\"left\"" : "", escaped(text), tag);
}

}  // namespace

void Report::section(std::string_view title) {
  sections_.emplace_back(title);
  put(body_, "<h2 id=\"s{}\">{}</h2>\n", sections_.size(), escaped(title));
}

void Report::heading(std::string_view title) {
  put(body_, "<h3>{}</h3>\n", escaped(title));
}

void Report::paragraph(std::string_view text) {
  put(body_, "<p>{}</p>\n", escaped(text));
}

void Report::table(const Table& table) {
  std::vector<bool> left;
  put(body_, "<div class=\"wide\"><table>");
  std::string headings;
  for (const std::string& heading : table.headings) {
    left.push_back(heading.starts_with('<'));
    headings += cell("th", heading.substr(left.back() ? 1 : 0), left.back());
  }
  if (std::ranges::any_of(table.headings, [](const std::string& heading) { return heading != "<"; }))
    put(body_, "<thead><tr>{}</tr></thead>", headings);
  put(body_, "<tbody>\n");
  for (const Table::Row& row : table.rows) {
    if (row.kind == Table::Kind::group) {
      put(body_, "<tr class=\"group\"><th colspan=\"{}\">{}</th></tr>\n", left.size(),
          escaped(row.cells.front()));
      continue;
    }
    const bool plain = row.kind == Table::Kind::plain;
    put(body_, "<tr{}>",
        plain                            ? ""
        : row.kind == Table::Kind::aside ? " class=\"aside\""
                                         : " class=\"chosen\"");
    for (size_t c = 0; c < left.size(); ++c)
      put(body_, "{}", cell("td", c < row.cells.size() ? row.cells[c] : "", left[c]));
    put(body_, "</tr>\n");
  }
  put(body_, "</tbody></table></div>\n");
}

void Report::figures(const std::vector<Figure>& figures) {
  if (figures.empty()) return;
  put(body_, "<div class=\"figures{}\">\n", figures.front().small ? " small" : "");
  for (const Figure& figure : figures) {
    put(body_, "<figure><figcaption>{}</figcaption>", escaped(figure.title));
    body_ += figure.chart;
    put(body_, "</figure>\n");
  }
  put(body_, "</div>\n");
}

void Report::begin_details(std::string_view summary) {
  put(body_, "<details><summary>{}</summary>\n", escaped(summary));
}

void Report::end_details() {
  put(body_, "</details>\n");
}

void Report::preformatted(std::string_view text) {
  put(body_, "<pre>{}</pre>\n", escaped(text));
}

Markup Report::html() const {
  Markup page;
  put(page,
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
      "content=\"width=device-width, "
      "initial-scale=1\"/>\n<title>{}</title>\n<style>{}</style></head>\n<body>\n",
      escaped(title_), kStyle);
  put(page, "<header><h1>{}</h1><p class=\"sub\">{}</p></header>\n<nav><ul>", escaped(title_),
      escaped(subtitle_));
  for (size_t s = 0; s < sections_.size(); ++s)
    put(page, "<li><a href=\"#s{}\">{}</a></li>", s + 1, escaped(sections_[s]));
  put(page, "</ul></nav>\n<main>\n");
  page += body_;
  put(page, "</main>\n</body></html>\n");
  return page;
}

}  // namespace plimsoll
