#pragma once

#include <string>
#include <vector>

#include "config/checks.h"

namespace plimsoll {

/// How the data set is read.
struct DataSection {
  std::vector<std::string> without = {};  ///< Features to leave out.
};

template <EitherOf<DataSection> Section, typename Visit>
void visit_keys(Section& data, Visit&& visit) {
  visit("without", data.without, Names{});
}

}  // namespace plimsoll
