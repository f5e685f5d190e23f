#include "can/live/dbc_remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace plimsoll {

Dbc read_dbc_with_remarks(const std::string& path) {
  constexpr size_t kMaxPrinted = 8;
  Dbc dbc = read_dbc(path);
  const DbcRemarks& remarks = dbc.remarks();
  const size_t printed = std::min(remarks.kept().size(), kMaxPrinted);
  for (const DbcRemark& remark : std::span(remarks.kept()).first(printed))
    fmt::print(stderr, "plimsoll: {}:{}\n", path, remark.text());
  if (const int64_t others = remarks.count() - static_cast<int64_t>(printed); others > 0)
    fmt::print(stderr, "plimsoll: {}: and {} more such lines\n", path, others);
  return dbc;
}

Json remarks_json(const Dbc& dbc) {
  Json lines = Json::array();
  for (const DbcRemark& remark : dbc.remarks().kept())
    lines.push_back({{"line", remark.line},
                     {"found", remark.found},
                     {"expected", remark.expected},
                     {"done", remark.done}});
  return {{"count", dbc.remarks().count()}, {"lines", std::move(lines)}};
}

}  // namespace plimsoll
