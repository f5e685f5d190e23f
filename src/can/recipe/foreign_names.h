#pragma once

namespace plimsoll {

/// Registers KD-GAT's names of settings for windows and detectors (config/foreign_names.h).
void register_kdgat_names();

}  // namespace plimsoll
