#include "ingest/append/inserted_nodes.h"

namespace plimsoll {

void InsertedNodes::seal() {
  if (keeps_numbers()) return;
  const int64_t blocks = (old_nodes_ + kBlock - 1) / kBlock;
  blocks_.reserve(static_cast<size_t>(blocks) + 1);
  uint32_t at = 0;
  for (int64_t block = 0; block <= blocks; ++block) {
    while (at < before_.size() && before_[at] < block * kBlock) ++at;
    blocks_.push_back(at);
  }
}

}  // namespace plimsoll
