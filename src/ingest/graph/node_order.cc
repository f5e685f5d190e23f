#include "ingest/graph/node_order.h"

#include <cstring>
#include <span>

namespace plimsoll {

NodeOrder::NodeOrder(const GraphScratch& scratch, int64_t nodes)
    : scratch_(scratch),
      nodes_(nodes),
      by_key_(sort("by_key", 0)),
      id_of_node_(sort("id_of_node", sizeof(uint64_t))) {}

void NodeOrder::add(uint32_t node, uint64_t id, uint32_t key) {
  by_key_->add(uint64_t{key} << 32 | node);
  id_of_node_->add(node, &id);
}

void NodeOrder::write_ids(bool texts, GraphWriter& writer) {
  by_key_->seal();
  id_of_node_->seal();
  new_of_node_ = sort("new_of_node", sizeof(uint32_t));
  uint32_t place = 0;
  for (ExternalSort::Reader reader = by_key_->read(); reader.next(); ++place)
    new_of_node_->add(reader.key() & 0xFFFFFFFF, &place);
  by_key_->remove();
  new_of_node_->seal();

  new_of_id_ = sort("new_of_id", sizeof(uint32_t));
  const auto shown = sort("shown", sizeof(uint64_t));
  {
    ExternalSort::Reader ids = id_of_node_->read();
    ExternalSort::Reader places = new_of_node_->read();
    while (ids.next() && places.next()) {
      uint64_t id = 0;
      std::memcpy(&id, ids.payload(), sizeof id);
      std::memcpy(&place, places.payload(), sizeof place);
      new_of_id_->add(id, &place);
      const uint64_t seen = texts ? ids.key() : id;
      shown->add(place, &seen);
    }
  }
  id_of_node_->remove();
  new_of_id_->seal();
  shown->seal();
  for (ExternalSort::Reader reader = shown->read(); reader.next();) {
    int64_t id = 0;
    std::memcpy(&id, reader.payload(), sizeof id);
    writer.append_node_id(std::span<const int64_t>(&id, 1));
  }
  shown->remove();
}

}  // namespace plimsoll
