#pragma once

namespace plimsoll {

/// Makes names of KD-GAT known that are about windows and detectors (config/foreign_names.h).
void register_kdgat_names();

}  // namespace plimsoll
